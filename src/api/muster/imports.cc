// Another cluster's history, taken record by record. What a record is and what is answered:
// python/muster/moving/README.md.
// Records name each other by their ids in the source. They are taken one after the other, what
// they are called here is remembered for those that follow, and one that is refused stops no
// other.
#include <fmt/format.h>
#include <kj/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "api/muster/import_records.h"
#include "text/json_reader.h"
#include "text/json_text.h"

namespace muster::api {
namespace {

constexpr std::int64_t kFormat = 1;
/// Reports of metrics that are under way at once.
constexpr std::size_t kReportsAtOnce = 512;
constexpr std::size_t kLinesMax = 100'000;  ///< of one body
// Enough to see what is wrong, without answering with everything.
constexpr std::size_t kRefusalsShown = 1'000;

/// A line of the body.
struct Line {
  std::size_t number = 0;  ///< from 1
  std::string kind;
  // What is known, so that a body that is sent twice skips what was taken.
  Json record;
};
/// What is here already, by its ids there.
struct Known {
  std::map<std::int64_t, ExperimentId> experiments;
  std::map<std::int64_t, TrialId> trials;
  std::map<std::int64_t, std::uint32_t> models;
  std::map<std::string, std::uint32_t> workspaces;  ///< by name
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t>
      projects;                       ///< by workspace and name
  std::set<std::string> checkpoints;  ///< of the body's, by uuid
};

/// One body on its way through the controller. Lives on the thread of HTTP, but for what workers do
/// to it before it goes.
class Import {
 public:
  Import(ApiPort& port, HttpRequest request)
      : port_(port),
        users_(port.users()),
        settings_(port.settings()),
        request_(std::move(request)) {
    context_.now = port.now();
  }

  const Caller& caller() const { return request_.caller; }
  /// On a worker, before the rest: without the port.
  Status read();
  void learn(const ClusterState& state);
  kj::Promise<void> run();
  HttpReply reply() const;

 private:
  Status read_source(const Json& record);
  void read_people_and_places(const Line& line);
  ImportOwner owner_named(const std::string& name);
  kj::Promise<void> import_line(const Line& line);
  kj::Promise<void> import_reports();
  kj::Promise<void> submit(const Line& line, Request request,
                           std::function<void(const Reply&)> note = nullptr);
  kj::Promise<void> import_document(const Line& line, Result<Document> document,
                                    std::function<void(std::uint32_t)> note = nullptr);
  kj::Promise<void> import_workspace(const Line& line);
  kj::Promise<void> import_project(const Line& line);
  kj::Promise<void> import_experiment(const Line& line);
  kj::Promise<void> import_trial(const Line& line);
  kj::Promise<void> store_metadata(const Line& line, std::int64_t trial);
  kj::Promise<void> import_checkpoint(const Line& line);
  kj::Promise<void> import_model(const Line& line);
  kj::Promise<void> import_version(const Line& line);
  Result<TrialId> trial_named(const Json& record) const;
  kj::Promise<void> refuse(const Line& line, const Error& error) {
    record_refusal(line.number, error.text());
    return kj::READY_NOW;
  }
  // The first refusals are told, all of them are counted.
  void record_refusal(std::size_t number, std::string reason) {
    ++refusals_;
    if (refused_.size() < kRefusalsShown) refused_.emplace_back(number, std::move(reason));
  }
  kj::Promise<void> skip(const Line& line) {
    ++skipped_[line.kind];
    return kj::READY_NOW;
  }

  ApiPort& port_;
  const UserDirectory& users_;
  const ApiPort::ServerSettings& settings_;
  HttpRequest request_;
  std::vector<Line> lines_;
  std::size_t next_ = 0;
  ImportContext context_;
  Known known_;
  std::map<std::string, std::uint64_t> imported_;
  std::map<std::string, std::uint64_t> skipped_;
  std::vector<std::pair<std::size_t, std::string>> refused_;  ///< the first of them
  std::uint64_t refusals_ = 0;
};

// ---- before anything is taken ----

ImportOwner Import::owner_named(const std::string& name) {
  ImportOwner owner{settings_.operator_user, settings_.operator_group, name};
  if (const auto user = users_.find(name)) {
    // Users are looked up here: their numbers may differ from those of the source.
    owner.user = user->first;
    owner.group = user->second;
  }
  owner.home = users_.account(owner.user).home;
  return owner;
}

Status Import::read_source(const Json& record) {
  if (text_field(record, "kind") != "source")
    return fail(wrong("the first line is no source record"));
  if (whole_field(record, "format") != kFormat) {
    return fail(wrong(fmt::format(
        "records of another format than {}: send them with the muster package of this version",
        kFormat)));
  }
  context_.source = text_field(record, "id").value_or("");
  // A slash would split the origin of what is imported.
  if (context_.source.empty() || context_.source.find('/') != std::string::npos)
    return fail(wrong("the source record has no id of its cluster"));
  context_.unknown = owner_named(settings_.operator_name);
  return {};
}

void Import::read_people_and_places(const Line& line) {
  const auto id = whole_field(line.record, "id");
  if (!id) return;
  if (line.kind == "user")
    context_.owners[*id] = owner_named(text_field(line.record, "username").value_or(""));
  if (line.kind == "workspace")
    context_.workspaces[*id] = text_field(line.record, "name").value_or("");
  if (line.kind == "project") {
    context_.projects[*id] = {whole_field(line.record, "workspace").value_or(0),
                              text_field(line.record, "name").value_or("")};
  }
}

/// By a worker: JSON takes long, and so may asking who users are.
Status Import::read() {
  std::size_t number = 0;
  for (std::string_view rest = request_.bytes; !rest.empty();) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    if (++number > kLinesMax)
      return fail(wrong(fmt::format("more than {} lines: send several bodies", kLinesMax)));
    // A line without anything is what an editor leaves at the end.
    if (text.empty()) continue;
    auto record = parse_json(text);
    const bool is_object = record.has_value() && record->object() != nullptr;
    if (number == 1) {
      if (!is_object) return fail(wrong("the first line is no source record"));
      TRY(read_source(*record));
      continue;
    }
    // Refused, not the body: the lines around it are good.
    if (!is_object) {
      record_refusal(number, "it is no JSON object");
      continue;
    }
    Line line{number, text_field(*record, "kind").value_or(""), std::move(record).value()};
    read_people_and_places(line);
    lines_.push_back(std::move(line));
  }
  return number == 0 ? fail(wrong("the body is empty: send a source record and what follows it"))
                     : Status();
}

/// The number behind the source's id, if it is the source's.
std::optional<std::int64_t> number_under(std::string_view origin, std::string_view source) {
  // Ids of another source are somebody else's numbers.
  if (!origin.starts_with(source) || origin.size() <= source.size() + 1 ||
      origin[source.size()] != '/')
    return std::nullopt;
  return whole_of(Json(std::string(origin.substr(source.size() + 1))));
}

void Import::learn(const ClusterState& state) {
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    const auto there = number_under(experiment.spec->imported_from, context_.source);
    if (!there) continue;
    known_.experiments[*there] = id;
    for (const TrialId trial : experiment.trials) {
      if (const auto number = whole_of(Json(state.experiments().find(trial)->imported_from)))
        known_.trials[*number] = trial;
    }
  }
  for (const DocumentRef& model : state.catalog().all(DocumentKind::kModel)) {
    if (const auto there = number_under(origin_of(*model), context_.source))
      known_.models[*there] = model->id;
  }
  for (const DocumentRef& one : state.catalog().all(DocumentKind::kWorkspace))
    known_.workspaces[one->name] = one->id;
  for (const DocumentRef& one : state.catalog().all(DocumentKind::kProject))
    known_.projects[{one->parent, one->name}] = one->id;
  // Only of this body: all checkpoints of a cluster would be too many.
  for (const Line& line : lines_) {
    const auto uuid = line.kind == "checkpoint" ? text_field(line.record, "uuid") : std::nullopt;
    if (uuid && state.checkpoints().find(*uuid) != nullptr) known_.checkpoints.insert(*uuid);
  }
}

// ---- record by record ----

kj::Promise<void> Import::run() {
  // One at a time, as later records name earlier ones.
  if (next_ >= lines_.size()) return kj::READY_NOW;
  auto taken = lines_[next_].kind == "metrics" ? import_reports() : import_line(lines_[next_++]);
  return taken.then([this] { return run(); });
}

kj::Promise<void> Import::import_line(const Line& line) {
  // A line that repeats what the body's beginning said.
  if (bool_field(line.record, "again").value_or(false)) return kj::READY_NOW;
  if (line.kind == "user") {
    ++imported_[line.kind];
    return kj::READY_NOW;
  }
  if (line.kind == "workspace") return import_workspace(line);
  if (line.kind == "project") return import_project(line);
  if (line.kind == "experiment") return import_experiment(line);
  if (line.kind == "trial") return import_trial(line);
  if (line.kind == "checkpoint") return import_checkpoint(line);
  if (line.kind == "model") return import_model(line);
  if (line.kind == "model_version") return import_version(line);
  return refuse(line, wrong(fmt::format("records of kind '{}' are not known", line.kind)));
}

kj::Promise<void> Import::submit(const Line& line, Request request,
                                 std::function<void(const Reply&)> note) {
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  return port_.submit(caller(), std::move(requests))
      .then([this, &line, note = std::move(note)](std::vector<Reply> replies) -> kj::Promise<void> {
        const auto error = error_of(replies);
        // A version that is there is the same version: its number is the source's.
        if (error && error->code == ErrorCode::kAlreadyExists && line.kind == "model_version")
          return skip(line);
        if (error) return refuse(line, *error);
        ++imported_[line.kind];
        if (note) note(replies.front());
        return kj::READY_NOW;
      });
}

kj::Promise<void> Import::import_document(const Line& line, Result<Document> document,
                                          std::function<void(std::uint32_t)> note) {
  if (!document.has_value()) return refuse(line, document.error());
  // true: an imported document keeps its number and its times.
  return submit(line, StoreDocument{std::move(document).value(), true},
                [note = std::move(note)](const Reply& reply) {
                  if (note) note(reply.document);
                });
}

/// The first workspace and the first project are there in every cluster.
kj::Promise<void> Import::import_workspace(const Line& line) {
  const std::string name = text_field(line.record, "name").value_or("");
  // The source's own first places are ours.
  if (bool_field(line.record, "isImmutable").value_or(false) || known_.workspaces.contains(name))
    return skip(line);
  return import_document(line, workspace_of(line.record, context_),
                         [this, name](std::uint32_t id) { known_.workspaces[name] = id; });
}

kj::Promise<void> Import::import_project(const Line& line) {
  const std::string name = text_field(line.record, "name").value_or("");
  const auto workspace =
      context_.workspaces.find(whole_field(line.record, "workspace").value_or(0));
  const auto parent = workspace == context_.workspaces.end()
                          ? known_.workspaces.end()
                          : known_.workspaces.find(workspace->second);
  const bool is_first = bool_field(line.record, "isImmutable").value_or(false);
  if (is_first) return skip(line);
  if (parent == known_.workspaces.end())
    return refuse(line, wrong(fmt::format("project {}: its workspace was not imported", name)));
  if (known_.projects.contains({parent->second, name})) return skip(line);
  return import_document(line, project_of(line.record, context_, parent->second),
                         [this, key = std::pair(parent->second, name)](std::uint32_t id) {
                           known_.projects[key] = id;
                         });
}

kj::Promise<void> Import::import_experiment(const Line& line) {
  const auto id = record_id(line.record, "id");
  if (!id.has_value()) return refuse(line, id.error());
  if (known_.experiments.contains(*id)) return skip(line);
  auto import = experiment_of(line.record, context_);
  if (!import.has_value()) return refuse(line, import.error());
  // A parent that was not imported is left out, rather than refusing the experiment.
  if (const auto parent = known_.experiments.find(whole_field(line.record, "parent").value_or(0));
      parent != known_.experiments.end()) {
    auto spec = std::make_shared<ExperimentSpec>(*import->experiment.spec);
    spec->parent = parent->second;
    import->experiment.spec = std::move(spec);
  }
  return submit(line, std::move(import).value(), [this, id = *id](const Reply& reply) {
    known_.experiments[id] = reply.experiment;
  });
}

kj::Promise<void> Import::import_trial(const Line& line) {
  const auto id = record_id(line.record, "id");
  const auto experiment = record_id(line.record, "experiment");
  if (!id.has_value()) return refuse(line, id.error());
  if (!experiment.has_value()) return refuse(line, experiment.error());
  if (known_.trials.contains(*id)) return skip(line);
  const auto ours = known_.experiments.find(*experiment);
  if (ours == known_.experiments.end())
    return refuse(line, wrong(fmt::format("experiment {} was not imported", *experiment)));
  auto import = trial_of(line.record, ours->second);
  if (!import.has_value()) return refuse(line, import.error());
  const auto note = [this, id = *id](const Reply& reply) { known_.trials[id] = reply.trial; };
  // A trial's own notes follow it, as they name it.
  return submit(line, std::move(import).value(), note).then([this, &line, id = *id] {
    return store_metadata(line, id);
  });
}

/// What the trial had noted of itself.
kj::Promise<void> Import::store_metadata(const Line& line, std::int64_t trial) {
  const Json* metadata = field(line.record, "metadata");
  const auto ours = known_.trials.find(trial);
  if (metadata == nullptr || metadata->object() == nullptr || metadata->object()->empty() ||
      ours == known_.trials.end())
    return kj::READY_NOW;
  Document document;
  document.kind = DocumentKind::kRunMetadata;
  document.id = ours->second.value();
  document.body = json_text(*metadata);
  std::vector<Request> requests;
  requests.emplace_back(StoreDocument{std::move(document), true});
  return port_.submit(caller(), std::move(requests))
      .then([this, &line](std::vector<Reply> replies) -> kj::Promise<void> {
        const auto error = error_of(replies);
        return error ? refuse(line, *error) : kj::READY_NOW;
      });
}

Result<TrialId> Import::trial_named(const Json& record) const {
  const std::uint32_t id = TRY(record_id(record, "trial"));
  const auto ours = known_.trials.find(id);
  if (ours == known_.trials.end()) return fail(wrong(fmt::format("trial {} was not imported", id)));
  return ours->second;
}

kj::Promise<void> Import::import_checkpoint(const Line& line) {
  const auto trial = trial_named(line.record);
  if (!trial.has_value()) return refuse(line, trial.error());
  if (known_.checkpoints.contains(text_field(line.record, "uuid").value_or(""))) return skip(line);
  auto import = checkpoint_of(line.record, *trial);
  if (!import.has_value()) return refuse(line, import.error());
  // Twice in one body is once.
  known_.checkpoints.insert(import->checkpoint.uuid);
  return submit(line, std::move(import).value());
}

kj::Promise<void> Import::import_model(const Line& line) {
  const auto id = record_id(line.record, "id");
  if (!id.has_value()) return refuse(line, id.error());
  if (known_.models.contains(*id)) return skip(line);
  return import_document(line, model_of(line.record, context_),
                         [this, id = *id](std::uint32_t ours) { known_.models[id] = ours; });
}

kj::Promise<void> Import::import_version(const Line& line) {
  const auto model = record_id(line.record, "model");
  if (!model.has_value()) return refuse(line, model.error());
  const auto ours = known_.models.find(*model);
  if (ours == known_.models.end())
    return refuse(line, wrong(fmt::format("model {} was not imported", *model)));
  return import_document(line, version_of(line.record, context_, ours->second));
}

/// Those that follow each other go together: one sync of the store serves many.
kj::Promise<void> Import::import_reports() {
  kj::Vector<kj::Promise<void>> all(kReportsAtOnce);
  // Reports are the only records that do not name each other: they go together.
  for (; next_ < lines_.size() && lines_[next_].kind == "metrics" && all.size() < kReportsAtOnce;
       ++next_) {
    const Line& line = lines_[next_];
    const auto trial = trial_named(line.record);
    auto report = trial.has_value() ? report_of(line.record, *trial)
                                    : Result<MetricReport>(fail(trial.error()));
    if (!report.has_value()) {
      all.add(refuse(line, report.error()));
      continue;
    }
    all.add(port_.report(caller(), std::move(report).value())
                .then([this, &line](std::optional<Error> error) -> kj::Promise<void> {
                  if (error) return refuse(line, *error);
                  ++imported_[line.kind];
                  return kj::READY_NOW;
                }));
  }
  return kj::joinPromises(all.releaseAsArray());
}

Json counts_json(const std::map<std::string, std::uint64_t>& counts) {
  Json json = Json::Object{};
  for (const auto& [kind, count] : counts) json.member(kind) = static_cast<std::int64_t>(count);
  return json;
}

// What was taken, what was there, and what was refused.
HttpReply Import::reply() const {
  Json::Array refused;
  for (const auto& [line, reason] : refused_)
    refused.push_back(Json::Object{{"line", static_cast<std::int64_t>(line)}, {"reason", reason}});
  return json_reply(Json::Object{{"imported", counts_json(imported_)},
                                 {"skipped", counts_json(skipped_)},
                                 {"refused", std::move(refused)},
                                 {"refusals", static_cast<std::int64_t>(refusals_)}});
}

kj::Promise<HttpReply> receive_import(ApiPort& port, HttpRequest request) {
  // An import writes in other users' names: only operators may.
  if (!request.caller.identity.is_operator) {
    return error_reply(Error{ErrorCode::kPermissionDenied,
                             "only an operator may import another cluster's experiments",
                             "ask the cluster's operator"});
  }
  auto import = std::make_shared<Import>(port, std::move(request));
  using Done = bool;
  const std::function<Result<Done>()> read = [import]() -> Result<Done> {
    TRY(import->read());
    return true;
  };
  // Parsing and asking who users are is work for a worker; records are taken on this thread.
  return work<Done>(port, read).then([&port, import](Result<Done> done) -> kj::Promise<HttpReply> {
    if (!done.has_value()) return error_reply(done.error());
    return port
        .look(import->caller(), [import](const ClusterState& state) { import->learn(state); })
        .then([import](Status seen) -> kj::Promise<HttpReply> {
          if (!seen.has_value()) return error_reply(seen.error());
          return import->run().then([import] { return import->reply(); });
        });
  });
}

}  // namespace

void add_import_routes(Router& router) {
  router.add(Method::kPost, "/api/v1/muster/import", "Take records of another cluster's history",
             receive_import);
}

}  // namespace muster::api
