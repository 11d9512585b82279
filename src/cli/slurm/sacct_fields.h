// The fields of sacct: their names, widths, and what they show for jobs and steps. Source:
// sacct(1).
#pragma once

#include <span>
#include <string>

#include "cli/lib/local_zone.h"
#include "model/view.h"
#include "slurm/column_format.h"

namespace muster::cli {

/// A line of sacct: a job, or one of its steps.
struct AccountRow {
  const JobView* job = nullptr;
  const StepView* step = nullptr;  ///< null: the job itself
};

/// The form in which amounts of memory are written.
struct AccountContext {
  ShowContext show;
  char unit = 0;  ///< --units: K, M, G, T, P; 0: as `show.is_converted` says
};

struct AccountField {
  const char* name;  ///< as the header has it
  int width;         ///< negative: left-justified
  std::string (*show)(const AccountRow&,
                      const AccountContext&);  ///< null: nothing is known of it, always empty
};

/// Returns the fields in alphabetical order.
std::span<const AccountField> account_fields();
/// Returns the field of that name, in any case. Null: there is none.
const AccountField* find_account_field(std::string_view name);

inline constexpr std::string_view kSacctFields =
    "jobid,jobname,partition,account,alloccpus,state,exitcode";
inline constexpr std::string_view kSacctBriefFields = "jobid,state,exitcode";
inline constexpr std::string_view kSacctLongFields =
    "jobid,jobidraw,jobname,partition,maxvmsize,maxrss,maxpages,ntasks,alloccpus,elapsed,state,"
    "exitcode,reqmem,alloctres";

}  // namespace muster::cli
