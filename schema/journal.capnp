@0xb6f3c0a1d2e45702;
# The journal's records. See docs/internals/journal.md.

using Cxx = import "/capnp/c++.capnp";
using M = import "model.capnp";
$Cxx.namespace("muster::schema");

struct EpochStarted { epoch @0 :UInt64; clusterId @1 :Text; rules @2 :UInt32; }
struct ClockStepped { by @0 :Int64; }
struct JobIdsReserved { next @0 :UInt32; }
struct ConfigApplied { config @0 :M.ClusterConfig; }
struct NodeRegistered {
  node @0 :UInt32;
  bootId @1 :Text;
  bootTime @2 :Int64;
  agentStartTime @3 :Int64;
  version @4 :Text;
  arch @5 :Text;
  os @6 :Text;
  setConditions @7 :UInt16;
  clearConditions @8 :UInt16;
  reason @9 :Text;
  machineId @10 :Text;
  shortfall @11 :Text;
}
struct NodeChanged {
  node @0 :UInt32;
  setConditions @1 :UInt16;
  clearConditions @2 :UInt16;
  hasReason @3 :Bool;
  reason @4 :Text;
  user @5 :UInt32;
  hasWeight @6 :Bool;
  weight @7 :UInt32;
  hasFeatures @8 :Bool;
  features @9 :List(Text);
  hasComment @10 :Bool;
  comment @11 :Text;
  hasExtra @12 :Bool;
  extra @13 :Text;
  hasFault @14 :Bool;
  fault @15 :Text;
}
struct PartitionChanged { partition @0 :UInt32; config @1 :M.PartitionConfig; }
struct JobSubmitted {
  job @0 :UInt32;
  spec @1 :M.JobSpec;
  priority @2 :Int64;
  flags @3 :UInt16;
  partitions @4 :List(UInt32);
  timeLimit @5 :Int64;
  array @6 :M.ArraySpec;
  dependencies @7 :M.DependencySet;
  firstStep @8 :M.StepSpec;
  reason @9 :UInt8;
}
struct ArraySplit { array @0 :UInt32; index @1 :UInt32; element @2 :UInt32; }
struct JobStarted {
  job @0 :UInt32;
  partition @1 :UInt32;
  allocation @2 :List(M.NodeGrant);
  timeLimit @3 :Int64;
  runKey @4 :UInt64;
}
struct JobEnding {
  job @0 :UInt32;
  state @1 :UInt8;
  reason @2 :UInt8;
  exit @3 :Int32;
  by @4 :UInt32;
  detail @5 :Text;
  isClean @6 :Bool;
  requeueAfter @7 :Bool;
  holdAfter @8 :UInt16;
  isRestart @9 :Bool;
  isEarly @10 :Bool;
}
struct NodeReleased { job @0 :UInt32; node @1 :UInt32; parts @2 :List(M.StepPart); }
struct JobRequeued { job @0 :UInt32; eligibleTime @1 :Int64; flags @2 :UInt16; }
struct JobChanged {
  job @0 :UInt32;
  spec @1 :M.JobSpec;
  hasPriority @2 :Bool;
  priority @3 :Int64;
  hasTimeLimit @4 :Bool;
  timeLimit @5 :Int64;
  hasEligibleTime @6 :Bool;
  eligibleTime @7 :Int64;
  hasFlags @8 :Bool;
  flags @9 :UInt16;
  dependencies @10 :M.DependencySet;
  hasArrayThrottle @11 :Bool;
  arrayThrottle @12 :UInt32;
  hasPartitions @13 :Bool;
  partitions @14 :List(UInt32);
  hasReason @15 :Bool;
  reason @16 :UInt8;
  array @17 :M.ArraySpec;
  isWarned @18 :Bool;
}
struct JobSuspended { job @0 :UInt32; }
struct JobResumed { job @0 :UInt32; }
struct JobsEvicted { jobs @0 :List(UInt32); }
struct StepsForgotten { job @0 :UInt32; steps @1 :List(UInt32); }
struct ExperimentEnded { experiment @0 :UInt32; state @1 :UInt8; }
struct SearchAsked { experiment @0 :UInt32; inputs @1 :List(SearchInput); }
struct StepCreated { step @0 :M.StepId; spec @1 :M.StepSpec; layout @2 :List(M.NodeGrant); launchKey @3 :UInt64; }
struct StepBegun { step @0 :M.StepId; parts @1 :List(UInt64); }
struct StepCancelled { step @0 :M.StepId; by @1 :UInt32; }
struct StepEnded {
  step @0 :M.StepId;
  state @1 :UInt8;
  exit @2 :Int32;
  usage @3 :M.Usage;
  detail @4 :Text;
}
struct RequestAnswered {
  requestHigh @0 :UInt64;
  requestLow @1 :UInt64;
  user @2 :UInt32;
  replies @3 :List(M.Reply);
}

struct StopRequested { job @0 :UInt32; order @1 :M.StopOrder; }
struct ExperimentCreated {
  experiment @0 :UInt32;
  spec @1 :M.ExperimentSpec;
  labels @2 :M.ExperimentLabels;
  state @3 :UInt8;
}
struct ExperimentChanged {
  experiment @0 :UInt32;
  hasState @1 :Bool;
  state @2 :UInt8;
  labels @3 :M.ExperimentLabels;
  hasMaxConcurrent @4 :Bool;
  maxConcurrent @5 :UInt32;
  detail @6 :Text;
  retention @7 :M.CheckpointRetention;
  share @8 :M.ExperimentShare;
  isCollected @9 :Bool;
  hasMaxSlots @10 :Bool;
  maxSlots @11 :UInt32;
}
struct TrialPlan {
  trial @0 :UInt32;
  seed @1 :UInt32;
  bracket @2 :UInt32;
  hparams @3 :Text;
  hasTarget @4 :Bool;
  target @5 :UInt64;
  hasCloneOf @6 :Bool;
  cloneOf @7 :UInt32;
  source @8 :Text;
  awaitsSource @9 :Bool;
}
struct TrialAwait { trial @0 :UInt32; hasUnits @1 :Bool; units @2 :UInt64; }   # the bits of a double
struct StopTrial { trial @0 :UInt32; reason @1 :M.StopReason; }
struct ContinueTrial { trial @0 :UInt32; target @1 :UInt64; }
struct SearchDecided {
  experiment @0 :UInt32;
  covered @1 :UInt64;
  state @2 :Data;
  progress @3 :UInt64;   # the bits of a double
  stops @4 :List(StopTrial);
  continued @5 :List(ContinueTrial);
  created @6 :List(TrialPlan);
  firstTrial @7 :UInt32;
  awaits @8 :List(TrialAwait);
  hasOutcome @9 :Bool;
  outcome @10 :UInt8;
}
struct TrialReported { trial @0 :UInt32; report @1 :M.TrialReport; isInput @2 :Bool; isAtTarget @3 :Bool; }
struct TrialFlagged { trial @0 :UInt32; }
struct TrialEnded { trial @0 :UInt32; state @1 :UInt8; exit @2 :UInt8; detail @3 :Text; }

struct TrialSourced { trial @0 :UInt32; source @1 :Text; }
struct TrialAgain { id @0 :UInt32; trial @1 :UInt32; was @2 :UInt8; }
struct ExperimentContinued {
  experiment @0 :UInt32;
  spec @1 :M.ExperimentSpec;
  trials @2 :List(TrialAgain);
  closed @3 :List(UInt32);
  covered @4 :UInt64;
  searchState @5 :Data;
  hparams @6 :Text;
}
struct ExperimentDeleted { experiment @0 :UInt32; }
struct CollectionBegun { collection @0 :M.Collection; }
struct CollectionEnded { job @0 :UInt32; isDone @1 :Bool; }

struct RunSignalled { job @0 :UInt32; note @1 :UInt8; }
struct CheckpointRecorded { checkpoint @0 :M.Checkpoint; }
struct DocumentStored { document @0 :M.Document; }
struct DocumentDeleted { kind @0 :UInt8; id @1 :UInt32; }

struct LogMatched { trial @0 :UInt32; match @1 :M.LogMatch; }
struct SearchOperated { experiment @0 :UInt32; input @1 :M.OperationsInput; }
struct TrialResized { trial @0 :UInt32; slots @1 :UInt32; }
struct TrialImported { trial @0 :M.ImportedTrial; }

struct LogRetentionSet { experiment @0 :UInt32; trial @1 :UInt32; days @2 :Int32; }

struct Event {
  time @0 :Int64;
  union {
    epochStarted @1 :EpochStarted;
    configApplied @2 :ConfigApplied;
    nodeRegistered @3 :NodeRegistered;
    nodeChanged @4 :NodeChanged;
    partitionChanged @5 :PartitionChanged;
    jobSubmitted @6 :JobSubmitted;
    arraySplit @7 :ArraySplit;
    jobStarted @8 :JobStarted;
    jobEnding @9 :JobEnding;
    nodeReleased @10 :NodeReleased;
    jobRequeued @11 :JobRequeued;
    jobChanged @12 :JobChanged;
    jobSuspended @13 :JobSuspended;
    jobResumed @14 :JobResumed;
    jobsEvicted @15 :JobsEvicted;
    stepCreated @16 :StepCreated;
    stepEnded @17 :StepEnded;
    requestAnswered @18 :RequestAnswered;
    stopRequested @19 :StopRequested;
    experimentCreated @20 :ExperimentCreated;
    experimentChanged @21 :ExperimentChanged;
    searchDecided @22 :SearchDecided;
    trialReported @23 :TrialReported;
    trialFlagged @24 :TrialFlagged;
    trialEnded @25 :TrialEnded;
    runSignalled @26 :RunSignalled;
    checkpointRecorded @27 :CheckpointRecorded;
    documentStored @28 :DocumentStored;
    documentDeleted @29 :DocumentDeleted;
    trialSourced @30 :TrialSourced;
    experimentContinued @31 :ExperimentContinued;
    experimentDeleted @32 :ExperimentDeleted;
    collectionBegun @33 :CollectionBegun;
    collectionEnded @34 :CollectionEnded;
    logMatched @35 :LogMatched;
    logRetentionSet @36 :LogRetentionSet;
    searchOperated @37 :SearchOperated;
    trialResized @38 :TrialResized;
    experimentImported @39 :M.ImportedExperiment;
    trialImported @40 :TrialImported;
    clockStepped @41 :ClockStepped;
    jobIdsReserved @42 :JobIdsReserved;
    stepsForgotten @43 :StepsForgotten;
    experimentEnded @44 :ExperimentEnded;
    searchAsked @45 :SearchAsked;
    stepBegun @46 :StepBegun;
    stepCancelled @47 :StepCancelled;
  }
}

struct EventBatch {
  # One row of the journal. Blobs stand in a table of their own, in the same transaction.
  seq @0 :UInt64;
  epoch @1 :UInt64;
  events @2 :List(Event);
  blobs @3 :List(Blob);   # what the batch adds; references is 0
}

struct Blob { id @0 :UInt64; digest @1 :Data; size @2 :UInt64; references @3 :UInt32; }

struct StepRecord {
  id @0 :M.StepId;
  spec @1 :M.StepSpec;
  layout @2 :List(M.NodeGrant);
  state @3 :UInt8;
  startTime @4 :Int64;
  endTime @5 :Int64;
  exit @6 :Int32;
  usage @7 :M.Usage;
  detail @8 :Text;
  begun @9 :List(UInt64);
  launchKey @10 :UInt64;
  hasCancelledBy @11 :Bool;
  cancelledBy @12 :UInt32;
}

struct JobRecord {
  # A job as a checkpoint keeps it.
  id @0 :UInt32;
  spec @1 :M.JobSpec;
  state @2 :UInt8;
  flags @3 :UInt16;
  reason @4 :UInt8;
  attempt @5 :UInt32;
  priority @6 :Int64;
  partitions @7 :List(UInt32);
  partition @8 :UInt32;
  timeLimit @9 :Int64;
  submitTime @10 :Int64;
  eligibleTime @11 :Int64;
  startTime @12 :Int64;
  endTime @13 :Int64;
  suspendTime @14 :Int64;
  suspendedBefore @15 :Int64;
  exit @16 :Int32;
  by @17 :UInt32;
  detail @18 :Text;
  holdAfter @19 :UInt16;
  arrayJob @20 :UInt32;
  hasArrayIndex @21 :Bool;
  arrayIndex @22 :UInt32;
  arrayRange @23 :M.ArrayRange;
  array @24 :M.ArraySpec;
  dependencies @25 :M.DependencySet;
  firstStep @26 :M.StepSpec;
  allocation @27 :List(M.NodeGrant);
  releasedNodes @28 :List(UInt64);
  steps @29 :List(StepRecord);
  nextStep @30 :UInt32;
  activeElements @31 :UInt32;
  stop @32 :M.StopOrder;
  hasSession @33 :Bool;
  isStopAcknowledged @34 :Bool;
  forgottenSteps @35 :UInt32;   # what history alone has
  forgottenUsage @36 :M.Usage;
  forgottenExit @37 :Int32;
  runKey @38 :UInt64;
  evictedCompleted @39 :List(UInt64);   # an array's elements that have left memory
  evictedFailed @40 :List(UInt64);
}

struct SearchBegun {}
struct ReportInput { trial @0 :UInt32; report @1 :M.TrialReport; }
struct ExitInput { trial @0 :UInt32; exit @1 :UInt8; hasMetric @2 :Bool; metric @3 :UInt64; }
struct LimitInput { maxConcurrent @0 :UInt32; }
struct AgainInput { trial @0 :UInt32; was @1 :UInt8; }
struct SearchInput {
  union {
    searchBegun @0 :SearchBegun;
    reportInput @1 :ReportInput;
    exitInput @2 :ExitInput;
    limitInput @3 :LimitInput;
    againInput @4 :AgainInput;
    operationsInput @5 :M.OperationsInput;
  }
}
struct ExperimentRecord {
  # An experiment as a checkpoint keeps it.
  id @0 :UInt32;
  spec @1 :M.ExperimentSpec;
  labels @2 :M.ExperimentLabels;
  state @3 :UInt8;
  submitTime @4 :Int64;
  endTime @5 :Int64;
  covered @6 :UInt64;
  inputs @7 :List(SearchInput);
  searchState @8 :Data;
  hasOutcome @9 :Bool;
  outcome @10 :UInt8;
  progress @11 :UInt64;
  trials @12 :List(UInt32);
  openTrials @13 :UInt32;
  detail @14 :Text;
  retention @15 :M.CheckpointRetention;
  share @16 :M.ExperimentShare;
  isCollected @17 :Bool;
  usedSlotTime @18 :Int64;
  hasMaxSlots @19 :Bool;
  maxSlots @20 :UInt32;
  hasLogRetentionDays @21 :Bool;
  logRetentionDays @22 :Int32;
}
struct TrialRecord {
  id @0 :UInt32;
  experiment @1 :UInt32;
  index @2 :UInt32;
  job @3 :UInt32;
  state @4 :UInt8;
  seed @5 :UInt32;
  bracket @6 :UInt32;
  hparams @7 :Text;
  hasTarget @8 :Bool;
  target @9 :UInt64;
  hasCloneOf @10 :Bool;
  cloneOf @11 :UInt32;
  isWaiting @12 :Bool;
  stop @13 :M.StopReason;
  isInvalid @14 :Bool;
  restarts @15 :UInt32;
  hasAwaits @16 :Bool;
  awaits @17 :UInt64;
  hasMetric @18 :Bool;
  metric @19 :UInt64;
  units @20 :UInt64;
  submitTime @21 :Int64;
  endTime @22 :Int64;
  detail @23 :Text;
  source @24 :Text;
  awaitsSource @25 :Bool;
  lastRun @26 :UInt32;
  logMatches @27 :List(M.LogMatch);
  failedRuns @28 :List(UInt32);
  hasLogRetentionDays @29 :Bool;
  logRetentionDays @30 :Int32;
  slots @31 :UInt32;
  resizeTime @32 :Int64;
  importedFrom @33 :Text;
  hasEndedEarlyAt @34 :Bool;
  endedEarlyAt @35 :UInt64;   # the bits of a double
  hasBestMetric @36 :Bool;
  bestMetric @37 :UInt64;     # the bits of a double
}

struct NodeRecord { index @0 :UInt32; config @1 :M.NodeConfig; status @2 :M.NodeStatus; }

struct AnsweredRequest {
  requestHigh @0 :UInt64;
  requestLow @1 :UInt64;
  user @2 :UInt32;
  time @3 :Int64;
  replies @4 :List(M.Reply);
}

struct CheckpointSlice {
  # Part of the state at the checkpoint's sequence number. Slices are read in order.
  jobs @0 :List(JobRecord);
  nodes @1 :List(NodeRecord);
  blobs @2 :List(Blob);
  requests @3 :List(AnsweredRequest);
  cluster @4 :ClusterRecord;
  experiments @5 :List(ExperimentRecord);
  trials @6 :List(TrialRecord);
  checkpoints @7 :List(M.Checkpoint);
  documents @8 :List(M.Document);
  collections @9 :List(M.Collection);
}

struct ClusterRecord {
  settings @0 :M.ClusterSettings;
  partitions @1 :List(M.PartitionConfig);
  epoch @2 :UInt64;
  nextJob @3 :UInt32;
  nextBlob @4 :UInt64;
  time @5 :Int64;
  nextExperiment @6 :UInt32 = 1;
  nextTrial @7 :UInt32 = 1;
  nextDocuments @8 :List(UInt32);
  clusterId @9 :Text;
  rules @10 :UInt32;
}
