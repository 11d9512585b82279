// The options that sbatch, srun and salloc share: what each is called, who has it, what it sets,
// and which are refused. They are read here; job_request.h turns them into a job or a step.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/lib/local_zone.h"
#include "cli/lib/option_reader.h"
#include "model/job_spec.h"
#include "model/request.h"
#include "model/resource_request.h"
#include "model/step.h"

namespace muster::cli {

/// The command that reads; the bits of `SubmitRow::commands`.
enum class Submitter : std::uint8_t { kAllocate = 1, kBatch = 2, kRun = 4 };

/// What the options say. Sizes and texts go straight into `job`; its `given` bits say which were
/// written.
struct SubmitOptions {
  Submitter by = Submitter::kBatch;
  ShowContext context;  ///< what --begin=now+1hour is read against
  JobSpec job;
  StepSpec step;                 ///< srun's own: labels, binding, exactness
  std::vector<GresAmount> gres;  ///< --gres, and --gpus-per-node beside it
  std::vector<GresAmount> gpus_per_node;
  std::vector<GresAmount> gpus;
  std::vector<GresAmount> gpus_per_task;
  bool has_cpus_of_tres = false;  ///< --tres-per-task says how many CPUs a task has
  bool has_gpus_of_tres = false;  ///< and how many GPUs
  bool is_exclusive = false;
  bool is_whole = false;
  bool is_export_given = false;
  bool is_nodes_written = false;  ///< -N was given, not copied from the job's SLURM_NNODES
  std::optional<JobId> inside;    ///< --jobid, SLURM_JOB_ID
  std::string cluster;            ///< -M: this cluster's name, written out
  std::optional<std::uint32_t> umask;
  std::optional<std::uint32_t> immediate_seconds;
  std::uint32_t verbosity = 0;
  std::map<std::string, std::string>
      defined;                       ///< every option that was given, with the value that counts
  std::vector<std::string> written;  ///< those of the command line
  bool is_quiet = false;
  // Of sbatch alone.
  std::optional<std::string> wrap;
  std::string export_file;
  bool is_parsable = false;
  bool is_test_only = false;
  bool is_wait = false;
  bool is_ignore_pbs = false;
  std::string propagate = "ALL";
  std::string reservation;  ///< --reservation: there is none by any name
  std::string licenses;     ///< --licenses: there are none by any name
  // Of salloc alone.
  bool is_no_shell = false;
  bool is_bell = false;
  std::uint16_t kill_signal = 0;
  // Of srun alone.
  bool is_disable_status = false;
  bool is_quit_on_interrupt = false;
  bool is_multi_prog = false;
  std::vector<std::uint16_t> ignored_signals;
  bool is_exit_report_brief = false;  ///< SLURM_SRUN_REDUCE_TASK_EXIT_MSG
  bool is_program_checked =
      false;  ///< SLURM_TEST_EXEC: the program must be there where srun is called
  // Of all of them.
  std::string hint;                   ///< --hint, for steps inside
  bool is_login_environment = false;  ///< --get-user-env
};

/// How an option is treated.
enum class OptionUse : std::uint8_t {
  kHonoured = 0,
  kRecorded = 1,  ///< kept with the job and shown; nothing follows from it
  kRefused = 2,   ///< an error that names it
};

struct SubmitRow {
  const char* name;
  char letter;
  std::uint8_t commands;  ///< bits of Submitter
  Takes takes;
  OptionUse use;
  Status (*set)(SubmitOptions&, std::string_view value);
  const char* help;
};

/// Returns all of them, in alphabetical order.
std::span<const SubmitRow> submit_rows();
bool has_option(const SubmitRow& row, Submitter by);

struct SubmitVariable;

/// Where a value came from; a stronger source replaces what a weaker one set.
enum class OptionSource : std::uint8_t { kScript = 0, kEnvironment = 1, kCommandLine = 2 };

/// Reads words into `options`. What the sources set for one group (memory per node, CPU or GPU)
/// follows the strongest; two of one source conflict. Errors are printed; they and --help give the
/// exit code.
class SubmitReader {
 public:
  SubmitReader(const Console& console, SubmitOptions& options)
      : console_(console), options_(options) {}
  ReadWords read(const Words& words, OptionSource source);
  /// Reads the input variables: SBATCH_*, SALLOC_*, SLURM_*. Returns the exit code when one is bad.
  std::optional<int> read_environment();

 private:
  Status set(const SubmitRow& row, std::string_view value, OptionSource source);
  /// Applies one variable. Returns an exit code when it cannot be accepted, and why has been
  /// printed.
  std::optional<int> set_variable(const SubmitVariable& variable, const std::string& value);
  std::string help() const;
  std::string usage() const;

  const Console& console_;
  SubmitOptions& options_;
  std::optional<OptionSource> memory_source_;
  std::optional<OptionSource> gpu_source_;
  std::string memory_option_;
};

/// An input variable: `suffix` after the command's prefix (or the whole name), and the option that
/// it stands for. Without an option `set` gets its value; without that, too, it is refused by name.
struct SubmitVariable {
  const char* suffix;
  const char* option;
  std::uint8_t commands;
  bool is_whole_name = false;
  Status (*set)(SubmitOptions&, std::string_view value) = nullptr;
};
std::span<const SubmitVariable> submit_variables();
/// Returns "SBATCH_ACCOUNT", "SRUN_OUTPUT".
std::string variable_name(const SubmitVariable& variable, Submitter by);
/// Returns "SBATCH_", "SALLOC_", "SLURM_".
std::string_view variable_prefix(Submitter by);

}  // namespace muster::cli
