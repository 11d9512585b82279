// What users see of an object, field by field: jobs, steps, nodes and partitions under the keys and
// in the words of `scontrol show`, experiments and trials under their own.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "model/view.h"
#include "tests/controller_scenario/world.h"

namespace muster::scenario {

using Fields = std::map<std::string, std::string>;

/// Of a record as scontrol prints it: "Key=Value" words; a word without a key belongs to the value
/// before it, and values of one key are joined by ";".
Fields fields_of_record(std::string_view record);

Fields job_fields(const JobView& job, TimePoint now);
Fields step_fields(const StepView& step, TimePoint now);
Fields node_fields(const World& world, NodeIndex node);
Fields partition_fields(const World& world, const PartitionConfig& partition);
Fields experiment_fields(const World& world, const Experiment& experiment);
Fields trial_fields(const World& world, const Trial& trial);
Fields checkpoint_fields(const Checkpoint& checkpoint);

/// Whether the field is as wanted: "@5" is the fifth second as scontrol shows times, "~text" a
/// part of the value, "!text" any value but that.
bool is_as_wanted(const std::string& wanted, const std::string& found);
/// The wanted value in full, for messages.
std::string wanted_text(const std::string& wanted);

}  // namespace muster::scenario
