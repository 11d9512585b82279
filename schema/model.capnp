@0xb6f3c0a1d2e45701;
# Values shared by journal and wire. Field numbers are never reused; a field that is gone keeps its number.
# Times are microseconds since 1970 UTC, durations microseconds; the largest Int64 stands for never or infinite.
# Memory is MiB unless the name says otherwise. Bitmaps are lists of 64-bit words, lowest first.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("muster::schema");

struct TextPack {
  # Many texts in one buffer. A bit in `mask` says that the text of that number is there and not empty; in the order of
  # the bits each ends at its place in `ends` and begins where the one before ends.
  mask @0 :UInt64;
  ends @1 :List(UInt32);
  buffer @2 :Data;
}

struct Error {
  code @0 :UInt8;
  message @1 :Text;
  detail @2 :Text;
  cause @3 :UInt8;
}

struct StepId {
  job @0 :UInt32;
  attempt @1 :UInt32;
  step @2 :UInt32;
}

struct GresGrant {
  name @0 :Text;
  type @1 :Text;
  devices @2 :List(UInt64);
}

struct NodeGrant {
  node @0 :UInt32;
  taskCount @1 :UInt32;
  cpus @2 :List(UInt64);
  memoryMib @3 :UInt64;
  gres @4 :List(GresGrant);
}

struct Usage {
  userCpuUs @0 :Int64;
  systemCpuUs @1 :Int64;
  maxRssKib @2 :UInt64;
}

struct StepPart {
  step @0 :UInt32;
  exit @1 :Int32;
  usage @2 :Usage;
  detail @3 :Text;
}

struct JobSpec {
  text @0 :TextPack;
  kind @1 :UInt8;
  user @2 :UInt32;
  group @3 :UInt32;
  minNodes @4 :UInt32;
  maxNodes @5 :UInt32;
  taskCount @6 :UInt32;
  tasksPerNode @7 :UInt32;
  tasksPerSocket @8 :UInt32;
  tasksPerCore @9 :UInt32;
  tasksPerGpu @10 :UInt32;
  cpusPerTask @11 :UInt32;
  minCpusPerNode @12 :UInt32;
  cpusPerGpu @13 :UInt32;
  socketsPerNode @14 :UInt32;
  coresPerSocket @15 :UInt32;
  threadsPerCore @16 :UInt32;
  tmpDiskMib @17 :UInt32;
  memoryScope @18 :UInt8;
  memoryMib @19 :UInt64;
  sharing @20 :UInt8;
  isContiguous @21 :Bool;
  isOvercommit @22 :Bool;
  given @23 :UInt32;
  timeLimit @24 :Int64;
  timeMin @25 :Int64;
  beginTime @26 :Int64;
  deadline @27 :Int64;
  nice @28 :Int32;
  priority @29 :UInt32;
  isHeld @30 :Bool;
  isRequeue @31 :Bool;
  killOnInvalidDependency @32 :Bool;
  isImmediate @33 :Bool;
  isKillOnNodeFail @34 :Bool;
  isReboot @35 :Bool;
  isSpread @36 :Bool;
  waitAllNodes @37 :Bool;
  umask @38 :UInt32;
  openMode @39 :UInt8;
  signalNumber @40 :UInt16;
  signalSeconds @41 :UInt32;
  signalBatchOnly @42 :Bool;
  signalAtReservation @43 :Bool;
  submitSession @44 :UInt32;
  coreSpec @45 :UInt16;
  oomKillStep @46 :Int32;
  script @47 :UInt64;
  environment @48 :UInt64;
  trial @49 :UInt32;
  runsBefore @50 :UInt32;
  isFewestNodes @51 :Bool;
  parsed @52 :ParsedRequest;  # what the texts ask for; null: none does, or the record is older than this field
  # What was asked for, where the partition's memory rules changed it; no CPUs per task: nowhere.
  askedCpusPerTask @53 :UInt32;
  askedMinCpusPerNode @54 :UInt32;
  askedMemoryScope @55 :UInt8;
  askedMemoryMib @56 :UInt64;
}

struct GresAmount { name @0 :Text; type @1 :Text; count @2 :UInt32; }
# Features joined by "and"; a list of them is joined by "or".
struct FeatureAlternative { all @0 :List(Text); }
struct ParsedRequest {
  gresPerNode @0 :List(GresAmount);
  gresPerJob @1 :List(GresAmount);
  gresPerTask @2 :List(GresAmount);
  features @3 :List(FeatureAlternative);
  preferred @4 :List(FeatureAlternative);
  requiredNodes @5 :List(Text);
  excludedNodes @6 :List(Text);
}

struct ExperimentSpec {
  user @0 :UInt32;
  userName @1 :Text;
  config @2 :Text;
  original @3 :Text;
  searcher @4 :Text;
  metric @5 :Text;
  smallerIsBetter @6 :Bool;
  timeMetric @7 :Text;
  slotsPerTrial @8 :UInt32;
  maxRestarts @9 :UInt32;
  preemptionTimeout @10 :Int64;
  trialLength @11 :UInt64;
  seed @12 :UInt64;
  entrypoint @13 :Text;
  runFolder @14 :Text;
  job @15 :JobSpec;
  parent @16 :UInt32;
  sourceCheckpoint @17 :Text;
  retention @18 :CheckpointRetention;
  share @19 :ExperimentShare;
  budget @20 :ExperimentBudget;
  hasLogRetentionDays @21 :Bool;
  logRetentionDays @22 :Int32;
  minSlotsPerTrial @23 :UInt32;
  importedFrom @24 :Text;
}
struct CheckpointRetention { experimentBest @0 :UInt32; trialBest @1 :UInt32 = 1; trialLatest @2 :UInt32 = 1; }
struct ExperimentShare { priority @0 :UInt32 = 42; weight @1 :UInt64 = 0x3ff0000000000000; }   # the bits of a double
struct ExperimentBudget { slotTime @0 :Int64; wallTime @1 :Int64; }
struct Collection {
  job @0 :UInt32;
  experiment @1 :UInt32;
  isWhole @2 :Bool;
  uuids @3 :List(Text);
}
struct SearchOperation {
  verb @0 :UInt8;
  request @1 :Text;
  hparams @2 :Text;
  source @3 :Text;
  length @4 :UInt64;
  outcome @5 :UInt8;
  progress @6 :UInt64;   # the bits of a double
}
struct OperationsInput { trigger @0 :UInt64; operations @1 :List(SearchOperation); }
struct ImportedTrial {
  id @0 :UInt32;
  experiment @1 :UInt32;
  importedFrom @2 :Text;
  seed @3 :UInt32;
  hparams @4 :Text;
  state @5 :UInt8;
  restarts @6 :UInt32;
  lastRun @7 :UInt32;
  hasMetric @8 :Bool;
  metric @9 :UInt64;   # the bits of a double
  units @10 :UInt64;   # so too
  submitTime @11 :Int64;
  endTime @12 :Int64;
  unused13 @13 :Text;
}
struct ImportedExperiment {
  id @0 :UInt32;
  spec @1 :ExperimentSpec;
  labels @2 :ExperimentLabels;
  state @3 :UInt8;
  submitTime @4 :Int64;
  endTime @5 :Int64;
  unused6 @6 :UInt64;
  unused7 @7 :Text;
}
struct ExperimentLabels {
  name @0 :Text;
  description @1 :Text;
  notes @2 :Text;
  labels @3 :List(Text);
  workspace @4 :Text;
  project @5 :Text;
  isArchived @6 :Bool;
  visibility @7 :UInt8;
}
struct StopReason {
  cause @0 :UInt8;
  bracket @1 :UInt32;
  rung @2 :UInt32;
  rank @3 :UInt32;
  cut @4 :UInt32;
  count @5 :UInt32;
}
struct StopOrder { call @0 :UInt8; deadline @1 :Int64; }
struct LogMatch { run @0 :UInt32; policy @1 :Text; action @2 :UInt8; node @3 :Text; line @4 :Text; }
struct TrialReport { metric @0 :UInt64; time @1 :UInt64; }   # the bits of doubles

struct StepSpec {
  text @0 :TextPack;
  taskCount @1 :UInt32;
  minNodes @2 :UInt32;
  maxNodes @3 :UInt32;
  relativeNode @4 :UInt32;
  tasksPerNode @5 :UInt32;
  cpusPerTask @6 :UInt32;
  memoryScope @7 :UInt8;
  memoryMib @8 :UInt64;
  isExact @9 :Bool;
  isOverlap @10 :Bool;
  isOvercommit @11 :Bool;
  isLabel @12 :Bool;
  isUnbuffered @13 :Bool;
  isInteractive @14 :Bool;
  isPty @15 :Bool;
  killOnBadExit @16 :Int8;
  isImmediate @17 :Bool;
  waitSeconds @18 :UInt32;
  timeLimit @19 :Int64;
  umask @20 :UInt32;
  openMode @21 :UInt8;
  signalNumber @22 :UInt16;
  signalSeconds @23 :UInt32;
  isTaskCountGiven @24 :Bool;
  isCpusPerTaskGiven @25 :Bool;
  isGpusGiven @26 :Bool;
  environment @27 :UInt64;
}

struct GresPool {
  name @0 :Text;
  type @1 :Text;
  count @2 :UInt32;
  files @3 :List(Text);
}

struct NodeConfig {
  name @0 :Text;
  hostName @1 :Text;
  address @2 :Text;
  port @3 :UInt16;
  cpus @4 :UInt32;
  boards @5 :UInt32;
  sockets @6 :UInt32;
  coresPerSocket @7 :UInt32;
  threadsPerCore @8 :UInt32;
  memoryMib @9 :UInt64;
  tmpDiskMib @10 :UInt32;
  weight @11 :UInt32;
  gres @12 :List(GresPool);
  features @13 :List(Text);
}

struct NodeStatus {
  conditions @0 :UInt16;
  reason @1 :Text;
  reasonUser @2 :UInt32;
  reasonTime @3 :Int64;
  bootId @4 :Text;
  bootTime @5 :Int64;
  agentStartTime @6 :Int64;
  version @7 :Text;
  arch @8 :Text;
  os @9 :Text;
  comment @10 :Text;
  extra @11 :Text;
  lastBusyTime @12 :Int64;
  machineId @13 :Text;
  fault @14 :Text;      # what its agent finds wrong with it
  shortfall @15 :Text;  # what it lacks of its configuration
}

struct PartitionConfig {
  name @0 :Text;
  nodesText @1 :Text;
  nodes @2 :List(UInt32);
  isDefault @3 :Bool;
  isHidden @4 :Bool;
  isRootOnly @5 :Bool;
  state @6 :UInt8;
  maxTime @7 :Int64;
  defaultTime @8 :Int64;
  overTimeLimit @9 :Int64;
  minNodes @10 :UInt32;
  maxNodes @11 :UInt32;
  maxCpusPerNode @12 :UInt32;
  priorityTier @13 :UInt32;
  priorityJobFactor @14 :UInt32;
  defaultMemoryPerCpuMib @15 :UInt64;
  defaultMemoryPerNodeMib @16 :UInt64;
  defaultMemoryPerGpuMib @17 :UInt64;
  maxMemoryPerCpuMib @18 :UInt64;
  maxMemoryPerNodeMib @19 :UInt64;
  defaultCpusPerGpu @20 :UInt32;
  isExclusive @21 :Bool;
  allowGroups @22 :List(Text);
  allowAccounts @23 :List(Text);
  denyAccounts @24 :List(Text);
  allowQos @25 :List(Text);
}

struct KeyValue {
  key @0 :Text;
  value @1 :Text;
}

struct ClusterSettings {
  clusterName @0 :Text;
  controllerHost @1 :Text;
  killWait @2 :Int64;
  minJobAge @3 :Int64;
  slurmdTimeout @4 :Int64;
  overTimeLimit @5 :Int64;
  unused6 @6 :Int64;
  unused7 @7 :Int64;
  requeueDelay @8 :Int64;
  maxJobCount @9 :UInt32;
  maxArraySize @10 :UInt32;
  maxStepCount @11 :UInt32;
  maxTasksPerNode @12 :UInt32;
  maxBatchRequeue @13 :UInt32;
  firstJobId @14 :UInt32;
  unused15 @15 :UInt32;
  maxScriptSize @16 :UInt64;
  defaultMemoryPerCpuMib @17 :UInt64;
  defaultMemoryPerNodeMib @18 :UInt64;
  defaultMemoryPerGpuMib @19 :UInt64;
  maxMemoryPerCpuMib @20 :UInt64;
  maxMemoryPerNodeMib @21 :UInt64;
  isJobRequeue @22 :Bool;
  isJobFileAppend @23 :Bool;
  isEnforcePartLimits @24 :Bool;
  isMemoryConsumable @25 :Bool;
  isCoreConsumable @26 :Bool;
  returnToService @27 :UInt8;
  killOnBadExit @28 :UInt8;
  requeueExit @29 :List(UInt32);
  requeueExitHold @30 :List(UInt32);
  gresTypes @31 :List(Text);
  mailProgram @32 :Text;
  shown @33 :List(KeyValue);
  logRetentionDays @34 :Int32 = -1;
  resizeInterval @35 :Int64 = 600000000;   # ten minutes
  launchTimeout @36 :Int64 = 60000000;
  isBackfill @37 :Bool = true;
  backfillWindows @38 :UInt32 = 500;
  backfillDepth @39 :UInt32;
  backfillInterval @40 :Int64 = 30000000;
}

struct ClusterConfig {
  settings @0 :ClusterSettings;
  nodes @1 :List(NodeConfig);
  partitions @2 :List(PartitionConfig);
}

struct ReasonDetail {
  reason @0 :UInt8;
  constraint @1 :Text;
  wanted @2 :UInt64;
  found @3 :UInt64;
  blockingJobs @4 :List(UInt32);
  nodes @5 :List(UInt32);
}

struct Reasons {
  word @0 :UInt8;
  details @1 :List(ReasonDetail);
  expectedStart @2 :Int64;
  plannedNodes @3 :List(UInt32);
}

struct ArraySpec {
  indices @0 :List(UInt64);
  throttle @1 :UInt32;
}

struct ArrayRange {
  taskCount @0 :UInt32;
  indexMin @1 :UInt32;
  indexMax @2 :UInt32;
  indexStep @3 :UInt32;
}

struct DependencyTerm {
  kind @0 :UInt8;
  job @1 :UInt32;
  hasArrayIndex @2 :Bool;
  arrayIndex @3 :UInt32;
  delay @4 :Int64;
  state @5 :UInt8;
  notBefore @6 :Int64;
}

struct DependencySet {
  isAny @0 :Bool;
  terms @1 :List(DependencyTerm);
}

struct JobSelector {
  job @0 :UInt32;
  indices @1 :List(UInt64);
  isElement @2 :Bool;
  hasStep @3 :Bool;
  step @4 :UInt32;
}

struct JobOutcome {
  job @0 :JobSelector;
  error @1 :Error;
}

struct Reply {
  error @0 :Error;
  job @1 :UInt32;
  step @2 :StepId;
  outcomes @3 :List(JobOutcome);
  warnings @4 :List(Text);
  isStarted @5 :Bool;
  expectedStart @6 :Int64;
  text @7 :Text;
  experiment @8 :UInt32;
  experiments @9 :List(ExperimentOutcome);
  document @10 :UInt32;
  trial @11 :UInt32;
}
struct ExperimentOutcome { experiment @0 :UInt32; error @1 :Error; }

struct Checkpoint {
  uuid @0 :Text;
  trial @1 :UInt32;
  run @2 :UInt32;
  stepsCompleted @3 :UInt64;
  state @4 :UInt8;
  reportTime @5 :Int64;
  size @6 :UInt64;
  metadata @7 :Text;
  resources @8 :Text;
}

struct Document {
  kind @0 :UInt8;
  id @1 :UInt32;
  parent @2 :UInt32;
  number @3 :UInt32;
  name @4 :Text;
  user @5 :UInt32;
  userName @6 :Text;
  createTime @7 :Int64;
  changeTime @8 :Int64;
  isArchived @9 :Bool;
  body @10 :Text;
  checkpoints @11 :List(Text);
}
