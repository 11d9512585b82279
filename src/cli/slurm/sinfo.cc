// sinfo: partitions and nodes as tables.
#include <fmt/format.h>

#include "cli/lib/commands.h"
#include "cli/lib/filters.h"
#include "cli/lib/job_text.h"
#include "cli/lib/node_text.h"
#include "cli/lib/option_reader.h"
#include "cli/lib/session.h"
#include "cli/slurm/sinfo_columns.h"

namespace muster::cli {
namespace {

struct SinfoOptions {
  std::vector<std::string> partitions;
  std::vector<std::string> nodes;
  std::vector<std::string> states;
  std::string format;
  std::string long_format;
  std::string sort;
  std::string clusters;
  bool is_long = false;
  bool is_per_node = false;
  bool is_reasons = false;
  bool is_summary = false;
  bool is_reservations = false;
  bool is_no_header = false;
  bool is_exact = false;
  bool is_all = false;
  bool is_hidden_left_out = false;
  bool is_dead_only = false;
  bool is_future_shown = false;
  bool is_responding_only = false;
  std::uint32_t repeat_seconds = 0;
};

using O = SinfoOptions;
using Value = std::string_view;

Status partitions(O& options, Value value) {
  options.partitions = split_list(value);
  return {};
}
Status nodes(O& options, Value value) { return add_nodes(value, options.nodes); }
Status states(O& options, Value value) {
  for (const std::string_view word : split_words(value, ',')) {
    for (const std::string_view part : split_words(word, '&')) {
      // A misspelt state would give an empty table.
      if (!is_node_state(part))
        return fail(ErrorCode::kInvalidArgument, fmt::format("Bad state string: \"{}\"", part));
    }
    options.states.emplace_back(word);
  }
  return {};
}
Status clusters(O& options, Value value) {
  options.clusters = std::string(value);
  return check_clusters(value);
}
Status repeat(O& options, Value value) {
  const auto seconds = parse_whole32(value);
  if (!seconds || *seconds == 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("iteration interval must be positive: '{}'", value));
  options.repeat_seconds = *seconds;
  return {};
}

constexpr OptionRow<O> kOptions[] = {
    {"all", 'a', Takes::kNothing, set_flag<&O::is_all>, "hidden partitions too"},
    {"cluster", 0, Takes::kValue, clusters, ""},
    {"clusters", 'M', Takes::kValue, clusters, "this cluster's own name; there are no others"},
    {"dead", 'd', Takes::kNothing, set_flag<&O::is_dead_only>, "only nodes that do not respond"},
    {"exact", 'e', Takes::kNothing, set_flag<&O::is_exact>,
     "nodes of different size on lines of their own"},
    {"federation", 0, Takes::kNothing, nullptr, ""},
    {"format", 'o', Takes::kValue, set_text<&O::format>, "columns by letter: \"%N %G\""},
    {"Format", 'O', Takes::kValue, set_text<&O::long_format>, "columns by name: NodeHost,Gres:40"},
    {"future", 'F', Takes::kNothing, set_flag<&O::is_future_shown>, "nodes in state FUTURE too"},
    {"hide", 0, Takes::kNothing, set_flag<&O::is_hidden_left_out>, "no hidden partitions"},
    {"iterate", 'i', Takes::kValue, repeat, "again every so many seconds"},
    {"json", 0, Takes::kMaybe, nullptr, ""},
    {"list-reasons", 'R', Takes::kNothing, set_flag<&O::is_reasons>,
     "why nodes are down or drained"},
    {"local", 0, Takes::kNothing, holds_anyway, ""},
    {"long", 'l', Takes::kNothing, set_flag<&O::is_long>, "more columns"},
    {"noconvert", 0, Takes::kNothing, holds_anyway, ""},
    {"node", 0, Takes::kNothing, set_flag<&O::is_per_node>, ""},
    {"Node", 'N', Takes::kNothing, set_flag<&O::is_per_node>, "one line for each node"},
    {"nodes", 'n', Takes::kValue, nodes, "only these nodes"},
    {"noheader", 'h', Takes::kNothing, set_flag<&O::is_no_header>, "no header line"},
    {"partition", 'p', Takes::kValue, partitions, "only these partitions"},
    {"reservation", 'T', Takes::kNothing, set_flag<&O::is_reservations>,
     "reservations (there are none)"},
    {"responding", 'r', Takes::kNothing, set_flag<&O::is_responding_only>,
     "only nodes that respond"},
    {"sort", 'S', Takes::kValue, set_text<&O::sort>, "by column letters: P,-t"},
    {"states", 't', Takes::kValue, states, "only nodes in these states"},
    {"summarize", 's', Takes::kNothing, set_flag<&O::is_summary>, "one line for each partition"},
    {"verbose", 'v', Takes::kNothing, holds_anyway, ""},
    {"yaml", 0, Takes::kMaybe, nullptr, ""},
};

std::size_t widest(const Page& page, bool is_node) {
  std::size_t width = 9;
  if (is_node) {
    for (const NodeView& node : page.nodes) width = std::max(width, node.config.name.size());
  } else {
    for (const PartitionView& view : page.partitions) {
      width = std::max(width, view.config.name.size() + (view.config.is_default ? 1 : 0));
    }
  }
  return width;
}

Result<ColumnFormat> chosen_format(const O& options, const Page& page) {
  if (!options.long_format.empty() && !options.format.empty())
    return fail(ErrorCode::kInvalidArgument, "-O (--Format) is incompatible with -o (--format)");
  if (!options.long_format.empty()) return parse_long_format(options.long_format);
  if (options.format == "%all") return all_columns(sinfo_columns());
  if (!options.format.empty()) return parse_short_format(options.format);
  // Slurm widens these columns to the longest name; an option's format has its own widths.
  const std::size_t partition = widest(page, false);
  const std::size_t node = widest(page, true);
  // -s goes before SINFO_FORMAT, -R and -N after it.
  if (options.is_summary)
    return parse_short_format(fmt::format("%{}P %.5a %.10l %.16F %N", partition));
  if (const auto format = environment_value("SINFO_FORMAT"); !format.empty())
    return parse_short_format(format);
  if (options.is_reasons)
    return parse_short_format(options.is_long ? "%20E %12U %19H %6t %N" : "%20E %9u %19H %N");
  if (options.is_per_node) {
    return parse_short_format(
        options.is_long ? fmt::format("%{}N %.6D %.{}P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E",
                                      node, partition)
                        : fmt::format("%{}N %.6D %.{}P %6t", node, partition));
  }
  return parse_short_format(
      options.is_long
          ? fmt::format("%{}P %.5a %.10l %.10s %.4r %.13h %.10g %.6D %.11T %.11i %N", partition)
          : fmt::format("%{}P %.5a %.10l %.6D %.6t %N", partition));
}

/// One word of -t; "&" joins what must all hold.
bool has_states(const NodeView& node, std::string_view word) {
  for (const std::string_view part : split_words(word, '&')) {
    if (!node_has_state(node, part)) return false;
  }
  return true;
}

bool is_shown(const O& options, const NodeView& node) {
  const bool is_silent =
      (node.status.conditions & (node_condition::kNotResponding | node_condition::kUnknown)) != 0;
  // -d and -r ask for opposites. Source: sinfo(1), --dead and --responding.
  if ((options.is_dead_only && !is_silent) || (options.is_responding_only && is_silent))
    return false;
  // As for Slurm they are not there yet, unless somebody asks for them.
  const bool is_future = (node.status.conditions & node_condition::kFuture) != 0;
  const bool is_asked_for = options.is_future_shown || !options.states.empty();
  if (is_future && !is_asked_for) return false;
  // Nodes without a reason have nothing to list.
  if (options.is_reasons && node.status.reason.empty()) return false;
  if (!options.nodes.empty() &&
      std::ranges::find(options.nodes, node.config.name) == options.nodes.end())
    return false;
  return options.states.empty() ||
         std::ranges::any_of(options.states,
                             [&](const std::string& word) { return has_states(node, word); });
}

bool is_shown(const O& options, const PartitionView& partition) {
  // Who names a hidden partition sees it. Source: sinfo(1), --hide.
  if (!options.partitions.empty())
    return std::ranges::find(options.partitions, partition.config.name) != options.partitions.end();
  return !partition.config.is_hidden || options.is_all;
}

Result<Page> load(Session& session) {
  Query query;
  query.kind = QueryKind::kPartitions;
  Page page = TRY(session.query(query));
  // Two lists of two moments: a node that is in one alone shows in no partition.
  query.kind = QueryKind::kNodes;
  page.nodes = TRY(session.query(query)).nodes;
  return page;
}

Status show_once(const Console& console, Session& session, const O& options) {
  auto loaded = load(session);
  // Slurm's text for it.
  if (!loaded.has_value())
    return fail(Error{loaded.error().code, "slurm_load_partitions: " + loaded.error().message,
                      loaded.error().detail});
  Page page = std::move(loaded).value();
  const ShowContext context = show_context(session.cluster().cluster_name);
  std::erase_if(page.partitions,
                [&](const PartitionView& partition) { return !is_shown(options, partition); });
  // Before nodes are left out: widths count all names.
  const ColumnFormat format = TRY(chosen_format(options, page));
  std::erase_if(page.nodes, [&](const NodeView& node) { return !is_shown(options, node); });
  const auto layout = layout_of(format, sinfo_columns(), "node");
  for (const std::string& unknown : layout.unknown) console.error(unknown);
  Grouping grouping;
  grouping.is_exact = options.is_exact;
  grouping.is_per_node = options.is_per_node;
  const bool is_of_partitions = std::ranges::any_of(layout.columns, [](const auto& column) {
    return column.first->letter == 'P' || column.first->letter == 'R';
  });
  // A partition without nodes has a line where partitions are what is listed.
  grouping.keeps_empty = is_of_partitions && !options.is_reasons && !options.is_per_node;
  std::vector<NodeGroup> groups =
      group_nodes(page.partitions, page.nodes, layout, grouping, context);
  // Groups come in the order of the configuration; within a partition the states that need
  // attention come first.
  if (!options.sort.empty()) {
    TRY(sort_rows(groups, options.sort, sinfo_columns(), context));
  } else if (options.is_per_node) {
    TRY(sort_rows(groups, "N", sinfo_columns(), context));
  } else {
    std::ranges::stable_sort(groups, [](const NodeGroup& a, const NodeGroup& b) {
      if (a.partition != b.partition) return a.partition < b.partition;
      const auto number = [](const NodeGroup& group) {
        return group.nodes.empty() ? 0 : node_state_number(*group.nodes.front());
      };
      return number(a) > number(b);
    });
  }
  if (!options.clusters.empty()) print(fmt::format("CLUSTER: {}\n", context.cluster));
  // With -i each table has its time above it.
  if (options.is_long || options.repeat_seconds != 0) print(date_line(context) + "\n");
  if (!options.is_no_header) print(header_line(layout));
  for (const NodeGroup& group : groups) print(row_line(layout, group, context));
  return {};
}

}  // namespace

int run_sinfo(const Words& words) {
  const Console console("sinfo");
  SinfoOptions options;
  // Variables first, so that options replace them.
  options.partitions = split_list(environment_value("SINFO_PARTITION"));
  options.sort = std::string(environment_value("SINFO_SORT"));
  options.is_all = !environment_value("SINFO_ALL").empty();
  const auto read = read_options<O>(
      console, words, kOptions, Operands::kAnywhere, options,
      {"Usage: sinfo [OPTIONS]\nShows partitions and the states of their nodes.\n",
       "Usage: sinfo [-adelNRrsTv] [-i seconds] [-t states] [-p partition] [-n nodes]"});
  if (read.exit_code) return *read.exit_code;
  const Status own_cluster = check_clusters_variable(!options.clusters.empty());
  if (!own_cluster.has_value()) return console.fail(own_cluster.error());
  if (!read.operands.empty()) {
    // sinfo takes no operands.
    return console.fail(Error{ErrorCode::kInvalidArgument,
                              fmt::format("Unrecognized option: {}", read.operands.front()), ""});
  }
  if (options.is_reservations) {
    print("No reservations in the system\n");
    return 0;
  }
  Session session(console);
  for (;;) {
    const Status shown = show_once(console, session, options);
    if (!shown.has_value()) return console.fail(shown.error());
    if (options.repeat_seconds == 0) return 0;
    std::fflush(stdout);
    session.sleep(Duration::seconds(options.repeat_seconds));
    print("\n");
  }
}

}  // namespace muster::cli
