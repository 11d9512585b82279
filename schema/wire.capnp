@0xb6f3c0a1d2e45703;
# What goes between processes: client and controller, agent and controller, supervisor and agent.

using Cxx = import "/capnp/c++.capnp";
using M = import "model.capnp";
$Cxx.namespace("muster::schema");

# ---- what a client may say of a job, a step and a document ----
# Types of their own beside the journal's: who asks, the numbers of blobs and whatever else the controller alone decides have
# no field here, so that nobody can send them.

struct JobRequest {
  text @0 :M.TextPack;
  kind @1 :UInt8;
  minNodes @2 :UInt32;
  maxNodes @3 :UInt32;
  taskCount @4 :UInt32;
  tasksPerNode @5 :UInt32;
  tasksPerSocket @6 :UInt32;
  tasksPerCore @7 :UInt32;
  tasksPerGpu @8 :UInt32;
  cpusPerTask @9 :UInt32;
  minCpusPerNode @10 :UInt32;
  cpusPerGpu @11 :UInt32;
  socketsPerNode @12 :UInt32;
  coresPerSocket @13 :UInt32;
  threadsPerCore @14 :UInt32;
  tmpDiskMib @15 :UInt32;
  memoryScope @16 :UInt8;
  memoryMib @17 :UInt64;
  sharing @18 :UInt8;
  isContiguous @19 :Bool;
  isOvercommit @20 :Bool;
  given @21 :UInt32;
  timeLimit @22 :Int64;
  timeMin @23 :Int64;
  beginTime @24 :Int64;
  deadline @25 :Int64;
  nice @26 :Int32;
  priority @27 :UInt32;
  isHeld @28 :Bool;
  isRequeue @29 :Bool;
  killOnInvalidDependency @30 :Bool;
  isImmediate @31 :Bool;
  isKillOnNodeFail @32 :Bool;
  isReboot @33 :Bool;
  isSpread @34 :Bool;
  waitAllNodes @35 :Bool;
  umask @36 :UInt32;
  openMode @37 :UInt8;
  signalNumber @38 :UInt16;
  signalSeconds @39 :UInt32;
  signalBatchOnly @40 :Bool;
  signalAtReservation @41 :Bool;
  submitSession @42 :UInt32;
  coreSpec @43 :UInt16;
  oomKillStep @44 :Int32;
  isFewestNodes @45 :Bool;
}

struct StepRequest {
  text @0 :M.TextPack;
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
}

struct DocumentRequest {
  kind @0 :UInt8;
  id @1 :UInt32;
  parent @2 :UInt32;
  number @3 :UInt32;
  name @4 :Text;
  isArchived @5 :Bool;
  body @6 :Text;
  checkpoints @7 :List(Text);
}

# ---- requests ----

struct JobFilter {
  jobs @0 :List(M.JobSelector);
  users @1 :List(Text);
  uids @2 :List(UInt32);
  names @3 :List(Text);
  accounts @4 :List(Text);
  partitions @5 :List(Text);
  qos @6 :List(Text);
  wckeys @7 :List(Text);
  reservations @8 :List(Text);
  licenses @9 :List(Text);
  nodes @10 :List(Text);
  states @11 :List(UInt8);
  isActiveOnly @12 :Bool;
}

struct SubmitJob {
  unused0 @0 :AnyPointer;
  script @1 :Data;
  environment @2 :Data;
  unused3 @3 :AnyPointer;
  isTestOnly @4 :Bool;
  spec @5 :JobRequest;
  firstStep @6 :StepRequest;
}
struct CancelJobs {
  filter @0 :JobFilter;
  signal @1 :UInt16;
  batchOnly @2 :Bool;
  full @3 :Bool;
  isLenient @4 :Bool;
  askedFrom @5 :UInt32;
}
struct ControlJobs { verb @0 :UInt8; jobs @1 :List(M.JobSelector); askedFrom @2 :UInt32; }
struct UpdateObject { kind @0 :UInt8; name @1 :Text; values @2 :List(M.KeyValue); }
struct CreateStep { job @0 :UInt32; unused1 @1 :AnyPointer; environment @2 :Data; spec @3 :StepRequest; }
struct ReleaseAllocation { job @0 :UInt32; attempt @1 :UInt32; exit @2 :Int32; }
struct RenewLease { job @0 :UInt32; }
struct CancelStep { step @0 :M.StepId; signal @1 :UInt16; askedFrom @2 :UInt32; launchKey @3 :UInt64; }
struct CreateExperiment {
  config @0 :Text;
  original @1 :Text;
  unused2 @2 :AnyPointer;
  context @3 :Data;
  environment @4 :Data;
  isPaused @5 :Bool;
  parent @6 :UInt32;
  job @7 :JobRequest;
}
struct ContinueExperiment { experiment @0 :UInt32; overrides @1 :Text; }
struct DeleteCheckpoints { uuids @0 :List(Text); }
struct ControlExperiments { verb @0 :UInt8; experiments @1 :List(UInt32); }
struct UpdateExperiment {
  experiment @0 :UInt32;
  hasName @1 :Bool;
  name @2 :Text;
  hasDescription @3 :Bool;
  description @4 :Text;
  hasNotes @5 :Bool;
  notes @6 :Text;
  hasMaxConcurrent @7 :Bool;
  maxConcurrent @8 :UInt32;
  addLabels @9 :List(Text);
  removeLabels @10 :List(Text);
  hasWorkspace @11 :Bool;
  workspace @12 :Text;
  hasProject @13 :Bool;
  project @14 :Text;
  retention @15 :M.CheckpointRetention;
  hasPriority @16 :Bool;
  priority @17 :UInt32;
  hasWeight @18 :Bool;
  weight @19 :UInt64;   # the bits of a double
  hasMaxSlots @20 :Bool;
  maxSlots @21 :UInt32;
  hasVisibility @22 :Bool;
  visibility @23 :UInt8;
}
struct NamedNumber { name @0 :Text; value @1 :UInt64; }   # the bits of a double
struct ReportTrial { trial @0 :UInt32; run @1 :UInt32; steps @2 :UInt64; metrics @3 :List(NamedNumber); }
struct FlagTrial { trial @0 :UInt32; run @1 :UInt32; }
struct StoreDocument { unused0 @0 :AnyPointer; unused1 @1 :Bool; document @2 :DocumentRequest; }
struct DeleteDocument { kind @0 :UInt8; id @1 :UInt32; }
struct SetLogRetention { experiment @0 :UInt32; trial @1 :UInt32; days @2 :Int32; }

struct Request {
  # What HTTP alone asks for (runs' notes, checkpoints, imports, custom searches) has no alternative here.
  union {
    submitJob @0 :SubmitJob;
    cancelJobs @1 :CancelJobs;
    controlJobs @2 :ControlJobs;
    updateObject @3 :UpdateObject;
    createStep @4 :CreateStep;
    releaseAllocation @5 :ReleaseAllocation;
    renewLease @6 :RenewLease;
    cancelStep @7 :CancelStep;
    reconfigure @8 :Void;
    createExperiment @9 :CreateExperiment;
    controlExperiments @10 :ControlExperiments;
    updateExperiment @11 :UpdateExperiment;
    reportTrial @12 :ReportTrial;
    flagTrial @13 :FlagTrial;
    unused14 @14 :Void;
    unused15 @15 :Void;
    storeDocument @16 :StoreDocument;
    deleteDocument @17 :DeleteDocument;
    continueExperiment @18 :ContinueExperiment;
    deleteCheckpoints @19 :DeleteCheckpoints;
    setLogRetention @20 :SetLogRetention;
    unused21 @21 :Void;
    unused22 @22 :Void;
    unused23 @23 :Void;
    unused24 @24 :Void;
  }
}

struct Query {
  kind @0 :UInt8;
  detail @1 :UInt8;
  filter @2 :JobFilter;
  since @3 :Int64;
  until @4 :Int64;
  isDuplicates @5 :Bool;
  isSteps @6 :Bool;
  experiments @7 :List(UInt32);
  trials @8 :List(UInt32);
  uuids @9 :List(Text);
  documentKind @10 :UInt8;
  documents @11 :List(UInt32);
}

# ---- views ----

struct JobView {
  id @0 :UInt32;
  spec @1 :M.JobSpec;
  attempt @2 :UInt32;
  state @3 :UInt8;
  flags @4 :UInt16;
  reasons @5 :M.Reasons;
  priority @6 :Int64;
  partition @7 :Text;
  timeLimit @8 :Int64;
  submitTime @9 :Int64;
  eligibleTime @10 :Int64;
  startTime @11 :Int64;
  endTime @12 :Int64;
  suspendTime @13 :Int64;
  suspendedBefore @14 :Int64;
  exit @15 :Int32;
  derivedExit @16 :Int32;
  cancelledBy @17 :UInt32;
  detail @18 :Text;
  arrayJob @19 :UInt32;
  hasArrayIndex @20 :Bool;
  arrayIndex @21 :UInt32;
  arrayRemaining @22 :Text;
  arrayThrottle @23 :UInt32;
  arrayRemainingCount @24 :UInt32;
  dependency @25 :Text;
  nodeList @26 :Text;
  batchHost @27 :Text;
  nodeCount @28 :UInt32;
  cpuCount @29 :UInt32;
  memoryMib @30 :UInt64;
  grants @31 :List(M.NodeGrant);
  nodeNames @32 :List(Text);
  requestedTres @33 :Text;
  allocatedTres @34 :Text;
  stdOut @35 :Text;
  stdErr @36 :Text;
  stdIn @37 :Text;
  usage @38 :M.Usage;
  plannedNodeList @39 :Text;
}

struct JobRow {
  # A job as the usual columns of a list need it. What few jobs have is in `more`, which is null where there is none of it.
  id @0 :UInt32;
  attempt @1 :UInt32;
  state @2 :UInt8;
  flags @3 :UInt16;
  reason @4 :UInt8;
  expectedStart @5 :Int64;
  priority @6 :Int64;
  partition @7 :Text;
  timeLimit @8 :Int64;
  submitTime @9 :Int64;
  eligibleTime @10 :Int64;
  startTime @11 :Int64;
  endTime @12 :Int64;
  arrayJob @13 :UInt32;
  hasArrayIndex @14 :Bool;
  arrayIndex @15 :UInt32;
  arrayRemainingCount @16 :UInt32;
  nodeList @17 :Text;
  nodeCount @18 :UInt32;
  cpuCount @19 :UInt32;
  exit @20 :Int32;
  user @21 :UInt32;
  name @22 :Text;
  userName @23 :Text;
  account @24 :Text;
  qos @25 :Text;
  more @26 :More;

  struct More {
    suspendTime @0 :Int64;
    suspendedBefore @1 :Int64;
    derivedExit @2 :Int32;
    cancelledBy @3 :UInt32;
    detail @4 :Text;
    arrayRemaining @5 :Text;
    arrayThrottle @6 :UInt32;
    dependency @7 :Text;
    plannedNodeList @8 :Text;
    batchHost @9 :Text;
  }
}

struct StepView {
  id @0 :M.StepId;
  spec @1 :M.StepSpec;
  name @2 :Text;
  user @3 :Text;
  partition @4 :Text;
  account @5 :Text;
  uid @6 :UInt32;
  arrayJob @7 :UInt32;
  hasArrayIndex @8 :Bool;
  arrayIndex @9 :UInt32;
  state @10 :UInt8;
  startTime @11 :Int64;
  endTime @12 :Int64;
  timeLimit @13 :Int64;
  exit @14 :Int32;
  cancelledBy @15 :UInt32;
  nodeList @16 :Text;
  nodeCount @17 :UInt32;
  taskCount @18 :UInt32;
  cpuCount @19 :UInt32;
  allocatedTres @20 :Text;
  usage @21 :M.Usage;
  detail @22 :Text;
  launchKey @23 :UInt64;
}

struct NodeView {
  config @0 :M.NodeConfig;
  status @1 :M.NodeStatus;
  allocatedCpus @2 :UInt32;
  allocatedMemoryMib @3 :UInt64;
  allocatedGres @4 :List(M.GresGrant);
  isCompleting @5 :Bool;
  loadHundredths @6 :UInt32;
  freeMemoryMib @7 :UInt64;
  lastContact @8 :Int64;
  partitions @9 :List(Text);
  isPlanned @10 :Bool;
}

struct PartitionView {
  config @0 :M.PartitionConfig;
  nodes @1 :List(Text);
  totalCpus @2 :UInt32;
  totalNodes @3 :UInt32;
  tres @4 :Text;
}

struct PingView {
  host @0 :Text;
  version @1 :Text;
  isReady @2 :Bool;
  seq @3 :UInt64;
  stateHash @4 :UInt64;
  epoch @5 :UInt64;
  httpAddress @6 :Text;
  clusterId @7 :Text;
  warnings @8 :List(Text);
}

struct TrialCounts {
  queued @0 :UInt32;
  running @1 :UInt32;
  waiting @2 :UInt32;
  completed @3 :UInt32;
  canceled @4 :UInt32;
  errored @5 :UInt32;
}
struct ExperimentView {
  id @0 :UInt32;
  spec @1 :M.ExperimentSpec;
  labels @2 :M.ExperimentLabels;
  state @3 :UInt8;
  submitTime @4 :Int64;
  endTime @5 :Int64;
  progress @6 :UInt64;   # here and below: the bits of doubles
  trials @7 :TrialCounts;
  bestTrial @8 :UInt32;
  bestMetric @9 :UInt64;
  detail @10 :Text;
  retention @11 :M.CheckpointRetention;
  share @12 :M.ExperimentShare;
  usedSlotTime @13 :Int64;
  hasMaxSlots @14 :Bool;
  maxSlots @15 :UInt32;
}
struct TrialView {
  id @0 :UInt32;
  experiment @1 :UInt32;
  index @2 :UInt32;
  job @3 :UInt32;
  state @4 :UInt8;
  jobState @5 :UInt8;
  jobReason @6 :UInt8;
  runs @7 :UInt32;
  restarts @8 :UInt32;
  seed @9 :UInt32;
  bracket @10 :UInt32;
  hparams @11 :Text;
  hasTarget @12 :Bool;
  target @13 :UInt64;
  isWaiting @14 :Bool;
  stop @15 :M.StopReason;
  hasStopping @16 :Bool;
  stopping @17 :UInt8;
  hasMetric @18 :Bool;
  metric @19 :UInt64;
  units @20 :UInt64;
  submitTime @21 :Int64;
  startTime @22 :Int64;
  endTime @23 :Int64;
  detail @24 :Text;
  folder @25 :Text;
  latestCheckpoint @26 :Text;
  checkpointBytes @27 :UInt64;
  checkpoints @28 :UInt32;
  source @29 :Text;
  logMatches @30 :List(M.LogMatch);
  logRetentionDays @31 :Int32;
  slots @32 :UInt32;
  hasBestMetric @33 :Bool;
  bestMetric @34 :UInt64;
}

struct Page {
  # At most about 1 MiB of one kind of thing.
  jobs @0 :List(JobView);
  steps @1 :List(StepView);
  nodes @2 :List(NodeView);
  partitions @3 :List(PartitionView);
  settings @4 :M.ClusterSettings;
  bytes @5 :Data;
  ping @6 :PingView;
  rows @7 :List(JobRow);   # in place of jobs, where rows were asked for
  experiments @8 :List(ExperimentView);
  trials @9 :List(TrialView);
  checkpoints @10 :List(M.Checkpoint);
  documents @11 :List(M.Document);
}

# ---- output of tasks ----

struct LogFilter {
  ranks @0 :List(UInt32);
  runs @1 :List(UInt32);
  streams @2 :List(UInt8);
  levels @3 :List(UInt8);
  firstTime @4 :Int64;
  lastTime @5 :Int64;
  text @6 :Text;
  isRegex @7 :Bool;
  isCaseIgnored @8 :Bool;
}
struct LogQuery {
  ownerKind @0 :UInt8;
  owner @1 :UInt32;
  filter @2 :LogFilter;
  from @3 :UInt64;
  isBackward @4 :Bool;
  linesMax @5 :UInt64;
  bytesMax @6 :UInt64;
}
struct LogLine {
  id @0 :UInt64;
  run @1 :UInt32;
  rank @2 :UInt32;
  stream @3 :UInt8;
  level @4 :UInt8;
  isContinuation @5 :Bool;
  isMarker @6 :Bool;
  time @7 :Int64;
  text @8 :Text;   # of any content
}
struct LogPage { lines @0 :List(LogLine); next @1 :UInt64; isEnd @2 :Bool; }

# ---- client and controller ----

interface PageSink {
  page @0 (bytes :Data) -> stream;   # one serialised Page
}

interface Controller {
  # The bootstrap capability of a client's connection. The caller's identity is the connection's.
  submit @0 (requests :List(Request), requestHigh :UInt64, requestLow :UInt64) -> (replies :List(M.Reply));
  query @1 (query :Query, sink :PageSink) -> (error :M.Error);
  wait @2 (job :UInt32, attempt :UInt32, until :UInt8, step :UInt32, launchKey :UInt64) -> (job :JobView, step :StepView, error :M.Error);
  # Answers when the job has started (until 0), ended (1), or the step has ended (2); at the latest after 30 s. With a launch
  # key at once when another step has the number.
  readLogs @4 (query :LogQuery, wait :Int64) -> (page :LogPage, isOver :Bool, error :M.Error);
  # With `wait` (microseconds, at most 30 s) an answer without lines is kept back until there are some.
  registerNode @3 (agent :Agent, hello :AgentMessage) -> (controller :AgentPort, error :M.Error, settings :M.ClusterSettings, clusterId :Text, epoch :UInt64);
}

# ---- agent and controller ----

struct TaskFile { path @0 :Text; text @1 :Text; }
struct TaskBind { source @0 :Text; target @1 :Text; isReadOnly @2 :Bool; }
struct LaunchStep {
  id @0 :M.StepId;
  job @1 :M.JobSpec;
  step @2 :M.StepSpec;
  script @3 :Data;
  environment @4 :Data;
  clusterName @5 :Text;
  nodeName @6 :Text;
  nodeRank @7 :UInt32;
  jobNodeRank @8 :UInt32;
  jobNodeList @9 :Text;
  jobCpus @10 :List(UInt32);
  jobTasks @11 :List(UInt32);
  stepNodeList @12 :Text;
  stepTasks @13 :List(UInt32);
  jobGrant @14 :M.NodeGrant;
  stepGrant @15 :M.NodeGrant;
  pools @16 :List(M.GresPool);
  partition @17 :Text;
  startTime @18 :Int64;
  endTime @19 :Int64;
  arrayJob @20 :UInt32;
  arrayIndex @21 :UInt32;
  array @22 :M.ArrayRange;
  restartCount @23 :UInt32;
  killWait @24 :Int64;
  isFileAppend @25 :Bool;
  killOnBadExit @26 :UInt8;
  variables @27 :List(Text);
  privateFolders @28 :List(Text);
  files @29 :List(TaskFile);
  binds @30 :List(TaskBind);
  clusterId @31 :Text;
  epoch @32 :UInt64;
  timeLeft @33 :Int64 = 9223372036854775807;  # until endTime; the largest: no limit
  launchKey @34 :UInt64;
}
struct SignalStep { id @0 :M.StepId; signal @1 :UInt16; batchOnly @2 :Bool; launchKey @3 :UInt64; }
struct TerminateJob { job @0 :UInt32; attempt @1 :UInt32; cause @2 :Text; killWait @3 :Int64; }
struct SuspendJob { job @0 :UInt32; attempt @1 :UInt32; isSuspend @2 :Bool; }
struct AcknowledgeStep { id @0 :M.StepId; launchKey @1 :UInt64; }
struct EndStep { id @0 :M.StepId; launchKey @1 :UInt64; }
struct FindSteps { steps @0 :List(KnownStep); }
struct ForgetJob { job @0 :UInt32; attempt @1 :UInt32; }
struct StopStep { id @0 :M.StepId; call @1 :UInt8; deadline @2 :Int64; signal @3 :UInt16; }
struct ChangeEnd {
  job @0 :UInt32;
  attempt @1 :UInt32;
  endTime @2 :Int64;
  timeLeft @3 :Int64 = 9223372036854775807;  # as in LaunchStep
}

struct KnownStep { id @0 :M.StepId; phase @1 :UInt8; launchKey @2 :UInt64; }
struct RegisterNode {
  nodeName @0 :Text;
  bootId @1 :Text;
  bootTime @2 :Int64;
  agentStartTime @3 :Int64;
  version @4 :Text;
  arch @5 :Text;
  os @6 :Text;
  cpus @7 :UInt32;
  sockets @8 :UInt32;
  coresPerSocket @9 :UInt32;
  threadsPerCore @10 :UInt32;
  memoryMib @11 :UInt64;
  gres @12 :List(M.GresPool);
  steps @13 :List(KnownStep);
  clusterId @14 :Text;   # of the controller that it served last; empty: none
  epoch @15 :UInt64;     # the highest that it has met there
  jobFloor @16 :UInt32;  # the highest job that it was told to start there
  agentId @17 :UInt64;   # drawn when the agent started
  machineId @18 :Text;   # the same after a reboot; empty: not known
  hasLostRecords @19 :Bool;  # it may not know all steps that run there, and has not been told since
  knownDamage @20 :UInt64;   # in the spool alone: bytes that could not be read when it was
  protocol @21 :UInt32;      # which orders it understands
}
struct Heartbeat { loadHundredths @0 :UInt32; freeMemoryMib @1 :UInt64; fault @2 :Text; }
struct StepRunning { id @0 :M.StepId; launchKey @1 :UInt64; }
struct StepDone {
  id @0 :M.StepId;
  nodeRank @1 :UInt32;
  tasks @2 :List(Int32);
  usage @3 :M.Usage;
  isOutOfMemory @4 :Bool;
  isLost @5 :Bool;
  error @6 :Text;
  isNodeFault @7 :Bool;
  isTimeout @8 :Bool;
  launchKey @9 :UInt64;
  mayPass @10 :Bool;        # a fault of the node's that may be gone soon
}
struct JobClean { job @0 :UInt32; attempt @1 :UInt32; }

struct LogStreamId {
  ownerKind @0 :UInt8;
  owner @1 :UInt32;
  run @2 :UInt32;
  rank @3 :UInt32;
  stream @4 :UInt8;
  source @5 :UInt64;
}
struct OutputReceived { stream @0 :LogStreamId; nextOffset @1 :UInt64; isEnd @2 :Bool; }
struct OutputSent {
  stream @0 :LogStreamId;
  offset @1 :UInt64;
  bytes @2 :Text;   # of any content
  receivedTime @3 :Int64;
  isEnd @4 :Bool;
}

struct AgentMessage {
  union {
    launchStep @0 :LaunchStep;
    signalStep @1 :SignalStep;
    terminateJob @2 :TerminateJob;
    suspendJob @3 :SuspendJob;
    acknowledgeStep @4 :AcknowledgeStep;
    forgetJob @5 :ForgetJob;
    changeEnd @6 :ChangeEnd;
    registerNode @7 :RegisterNode;
    heartbeat @8 :Heartbeat;
    stepRunning @9 :StepRunning;
    stepDone @10 :StepDone;
    jobClean @11 :JobClean;
    stopStep @12 :StopStep;
    outputReceived @13 :OutputReceived;
    outputSent @14 :OutputSent;
    findSteps @15 :FindSteps;
    endStep @16 :EndStep;
  }
}

interface AgentPort {
  deliver @0 (messages :List(AgentMessage)) -> ();
}

interface Agent extends(AgentPort) {
  # The agent's side of the same connection: the controller calls it here.
}
