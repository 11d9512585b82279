// Environments as text: NUL-separated blocks, single variables, and what --export lets through.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

/// Variables as NAME=VALUE, in the order of the block; a name at most once where our functions
/// wrote it.
using Environment = std::vector<std::string>;

/// Reads "A=1\0B=2\0", and writes it back. Empty parts are dropped.
Environment parse_environment(std::string_view block);
std::string environment_block(const Environment& environment);

/// Returns the value of the first variable of that name. Cost: O(variables).
std::optional<std::string_view> get_variable(const Environment& environment, std::string_view name);
/// Sets a variable in place, or appends it. Requires: no '=' and no NUL in the name.
void set_variable(Environment& environment, std::string_view name, std::string_view value);
/// Sets what each NAME=VALUE says, the last of a name; a NAME alone changes nothing. The
/// assignments may be a client's. Errors: kInvalidArgument: a name is empty, or there is a NUL.
/// Cost: O(variables + assignments).
Status set_variables(Environment& environment, std::span<const std::string> assignments);
/// Removes every variable of that name.
void unset_variable(Environment& environment, std::string_view name);

/// What an export option leaves of the submitting environment.
struct ExportedEnvironment {
  Environment variables;
  bool wants_login_environment = false;  ///< the user's login environment goes underneath
  friend bool operator==(const ExportedEnvironment&, const ExportedEnvironment&) = default;
};

/// Applies --export to `environment`. "" and ALL: everything. NONE: SLURM_* and SPANK_*, over the
/// login environment. NIL: those alone. Otherwise names (copied where they are set) and NAME=VALUE,
/// with SLURM_* and SPANK_*, over the login environment; ALL among them lets everything else
/// through too. Quotes keep commas in a value ("A='x,y'"). SLURM_JWT, a credential, never passes
/// unless a value is written out. Errors: kInvalidArgument "Invalid --export specification" for a
/// name that is none. Source: sbatch(1) --export.
Result<ExportedEnvironment> apply_export(std::string_view text, const Environment& environment);

}  // namespace muster
