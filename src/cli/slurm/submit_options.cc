// Every option of sbatch, srun and salloc in one table: which command has it, what it takes,
// whether it is honoured, recorded or refused, and who reads its value. The help, the refusals and
// the variables come from it, so that an option that is forgotten here is unknown everywhere.

#include "cli/slurm/submit_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "cli/slurm/submit_refusal.h"
#include "cli/slurm/submit_setters.h"
#include "text/words.h"

namespace muster::cli {
namespace {

using namespace setters;
using enum Takes;
using enum OptionUse;

// Allocate, batch, run: which commands have the row.
constexpr std::uint8_t kA = 1;
constexpr std::uint8_t kB = 2;
constexpr std::uint8_t kR = 4;
constexpr std::uint8_t kAll = kA | kB | kR;

// clang-format off
constexpr SubmitRow kRows[] = {
    {"accel-bind", 0, kR, kValue, kRefused, nullptr, ""},
    {"account", 'A', kAll, kValue, kRecorded, text<JobText::kAccount, given_option::kAccount>,
     "an account's name (recorded, not checked: there are no accounts yet)"},
    {"acctg-freq", 0, kAll, kValue, kRefused, nullptr, ""},
    {"array", 'a', kB, kValue, kHonoured, array, "run one element for each index: 0-15:2%4"},
    {"async", 0, kR, kNothing, kRefused, nullptr, ""},
    {"batch", 0, kB, kValue, kRefused, nullptr, ""},
    {"bb", 0, kAll, kValue, kRefused, nullptr, ""},
    {"bbf", 0, kAll, kValue, kRefused, nullptr, ""},
    {"bcast", 0, kR, kMaybe, kRefused, nullptr, ""},
    {"bcast-exclude", 0, kR, kValue, kRefused, nullptr, ""},
    {"begin", 'b', kAll, kValue, kHonoured, begin, "do not start before this time"},
    {"bell", 0, kA, kNothing, kHonoured, flag<&SubmitOptions::is_bell>,
     "ring when the allocation is there"},
    {"chdir", 'D', kAll, kValue, kHonoured, directory, "run in this directory"},
    {"cluster-constraint", 0, kAll, kValue, kRefused, nullptr, ""},
    {"clusters", 'M', kAll, kValue, kHonoured, clusters,
     "this cluster's own name; there are no others"},
    {"comment", 0, kAll, kValue, kRecorded, text<JobText::kComment>, "a text to keep with the job"},
    {"compress", 0, kR, kMaybe, kRefused, nullptr, ""},
    {"consolidate-segments", 0, kAll, kNothing, kRefused, nullptr, ""},
    {"constraint", 'C', kAll, kValue, kHonoured, constraint, "features that the nodes must have"},
    {"container", 0, kAll, kValue, kRefused, nullptr, ""},
    {"container-id", 0, kAll, kValue, kRefused, nullptr, ""},
    {"context", 0, kAll, kValue, kRefused, nullptr, ""},
    {"contiguous", 0, kAll, kNothing, kHonoured, job_flag<&ResourceRequest::is_contiguous>,
     "nodes that stand side by side"},
    {"core-spec", 'S', kAll, kValue, kRefused, nullptr, ""},
    {"cores-per-socket", 0, kAll, kValue, kHonoured, count<&ResourceRequest::cores_per_socket>,
     "nodes with at least so many cores per socket"},
    {"cpu-bind", 0, kR, kValue, kHonoured, cpu_bind,
     "none, threads, cores, sockets, rank, map_cpu:LIST, mask_cpu:LIST"},
    {"cpu-freq", 0, kAll, kValue, kRefused, nullptr, ""},
    {"cpus-per-gpu", 0, kAll, kValue, kHonoured,
     count<&ResourceRequest::cpus_per_gpu, given_option::kCpusPerGpu>,
     "CPUs for each GPU"},
    {"cpus-per-task", 'c', kAll, kValue, kHonoured, cpus_per_task, "CPUs for each task"},
    {"deadline", 0, kAll, kValue, kHonoured, deadline, "give up what cannot end by this time"},
    {"delay-boot", 0, kAll, kValue, kRefused, nullptr, ""},
    {"dependency", 'd', kAll, kValue, kHonoured, dependency,
     "wait for other jobs: afterok:12,after:13+5"},
    {"disable-status", 'X', kR, kNothing, kHonoured, flag<&SubmitOptions::is_disable_status>,
     "one Ctrl-C goes to the tasks, without a status report"},
    {"distribution", 'm', kAll, kValue, kHonoured, distribution,
     "how ranks lie on nodes: block, cyclic, plane=N"},
    {"epilog", 0, kR, kValue, kRefused, nullptr, ""},
    {"error", 'e', kB | kR, kValue, kHonoured, text<JobText::kStdErr>, "file for standard error"},
    {"exact", 0, kR, kNothing, kHonoured, step_flag<&StepSpec::is_exact>,
     "take only the CPUs asked for"},
    {"exclude", 'x', kAll, kValue, kHonoured, exclude, "nodes to stay away from"},
    {"exclusive", 0, kAll, kMaybe, kHonoured, exclusive,
     "whole nodes; for a step: CPUs of its own"},
    {"export", 0, kB | kR, kValue, kHonoured, export_list,
     "variables that the job sees: ALL, NONE, NIL, NAMES"},
    {"export-file", 0, kB, kValue, kHonoured, export_file, "file of NUL-separated NAME=VALUE"},
    {"external", 0, kB, kNothing, kRefused, nullptr, ""},
    {"extra", 0, kAll, kValue, kRecorded, text<JobText::kExtra>, "a text to keep with the job"},
    {"extra-node-info", 'B', kAll, kValue, kHonoured, extra_node_info,
     "sockets[:cores[:threads]] that nodes must have"},
    {"get-user-env", 0, kB, kNothing, kHonoured, flag<&SubmitOptions::is_login_environment>,
     "add the variables of your login shell"},
    {"gid", 0, kB, kValue, kRefused, nullptr, ""},
    {"gpu-bind", 0, kAll, kValue, kHonoured, gpu_bind,
     "which GPUs tasks see: none, closest, single:N, per_task:N, map:LIST, mask:LIST"},
    {"gpu-freq", 0, kAll, kValue, kRefused, nullptr, ""},
    {"gpus", 'G', kAll, kValue, kHonoured, gpus, "GPUs for the whole job: 4, h100:4"},
    {"gpus-per-node", 0, kAll, kValue, kHonoured, gpus_per_node, "GPUs on each node"},
    {"gpus-per-socket", 0, kAll, kValue, kRefused, nullptr, ""},
    {"gpus-per-task", 0, kAll, kValue, kHonoured, gpus_per_task, "GPUs for each task"},
    {"gres", 0, kAll, kValue, kHonoured, gres, "generic resources on each node: gpu:2,nic:1"},
    {"gres-flags", 0, kAll, kValue, kHonoured, gres_flags,
     "enforce-binding, disable-binding, allow-task-sharing"},
    {"het-group", 0, kR, kValue, kRefused, nullptr, ""},
    {"hint", 0, kAll, kValue, kHonoured, hint, "nomultithread, multithread, compute_bound"},
    {"hold", 'H', kAll, kNothing, kHonoured, job_flag<&JobSpec::is_held>, "submit held"},
    {"ignore-pbs", 0, kB, kNothing, kHonoured, flag<&SubmitOptions::is_ignore_pbs>,
     "pass over #PBS lines"},
    {"ignore-signals", 0, kR, kValue, kHonoured, ignore_signals,
     "signals not to pass on to the tasks"},
    {"immediate", 'I', kA | kR, kMaybe, kHonoured, immediate,
     "fail unless it starts within so many seconds (1)"},
    {"input", 'i', kB | kR, kValue, kHonoured, text<JobText::kStdIn>, "file for standard input"},
    {"interactive", 0, kR, kNothing, kRefused, nullptr, ""},
    {"job-name", 'J', kAll, kValue, kHonoured, text<JobText::kName>, "name of the job or step"},
    {"jobid", 0, kR, kValue, kHonoured, inside_job, "run a step in this job"},
    {"kill-command", 'K', kA, kMaybe, kHonoured, kill_command,
     "signal for the command when the allocation is revoked"},
    {"kill-on-bad-exit", 'K', kR, kMaybe, kHonoured, kill_on_bad_exit,
     "end the step when a task fails (1) or not (0)"},
    {"kill-on-invalid-dep", 0, kB, kValue, kHonoured, kill_on_invalid_dependency,
     "cancel when a dependency can never hold: yes or no"},
    {"label", 'l', kR, kNothing, kHonoured, step_flag<&StepSpec::is_label>,
     "begin each line with the task number"},
    {"licenses", 'L', kAll, kValue, kHonoured, set_text<&SubmitOptions::licenses>,
     "none is to be had: licenses are not counted yet"},
    {"mail-type", 0, kAll, kValue, kHonoured, mail_type,
     "when to send mail: BEGIN,END,FAIL,REQUEUE,ALL,TIME_LIMIT_80,..."},
    {"mail-user", 0, kAll, kValue, kHonoured, text<JobText::kMailUser>, "who gets mail (you)"},
    {"mcs-label", 0, kAll, kValue, kRefused, nullptr, ""},
    {"mem", 0, kAll, kValue, kHonoured, memory_per_node, "memory on each node; 0 is all of it"},
    {"mem-bind", 0, kAll, kValue, kHonoured, mem_bind, "none or local"},
    {"mem-per-cpu", 0, kAll, kValue, kHonoured, memory_per_cpu, "memory for each CPU"},
    {"mem-per-gpu", 0, kAll, kValue, kHonoured, memory_per_gpu, "memory for each GPU"},
    {"mem-update", 0, kAll, kValue, kRefused, nullptr, ""},
    {"mincpus", 0, kAll, kValue, kHonoured, count<&ResourceRequest::min_cpus_per_node>,
     "least CPUs on each node"},
    {"mpi", 0, kR, kValue, kHonoured, mpi, "MPI start-up: none, or list"},
    {"msg-timeout", 0, kR, kValue, kRefused, nullptr, ""},
    {"multi-prog", 0, kR, kNothing, kHonoured, flag<&SubmitOptions::is_multi_prog>,
     "the operand is a file that names a program for each task"},
    {"network", 0, kAll, kValue, kRefused, nullptr, ""},
    {"nice", 0, kAll, kMaybe, kHonoured, nice, "rank lower by so much"},
    {"no-allocate", 'Z', kR, kNothing, kRefused, nullptr, ""},
    {"no-bell", 0, kA, kNothing, kHonoured, flag<&SubmitOptions::is_bell, false>, "do not ring"},
    {"no-kill", 'k', kAll, kMaybe, kHonoured, no_kill,
     "live on when a node fails (jobs of one node: means nothing)"},
    {"no-requeue", 0, kB, kNothing, kHonoured, no_requeue, "never run twice"},
    {"no-shell", 0, kA, kNothing, kHonoured, flag<&SubmitOptions::is_no_shell>,
     "allocate and return at once"},
    {"nodefile", 'F', kAll, kValue, kHonoured, node_file, "file of node names to use"},
    {"nodelist", 'w', kAll, kValue, kHonoured, node_list, "nodes that must be part of it"},
    {"nodes", 'N', kAll, kValue, kHonoured, nodes, "number of nodes: 4, 2-8"},
    {"ntasks", 'n', kAll, kValue, kHonoured,
     count<&ResourceRequest::task_count, given_option::kTaskCount>,
     "number of tasks"},
    {"ntasks-per-core", 0, kAll, kValue, kHonoured,
     count<&JobSpec::tasks_per_core, given_option::kTasksPerCore>,
     "most tasks on a core"},
    {"ntasks-per-gpu", 0, kAll, kValue, kHonoured,
     count<&ResourceRequest::tasks_per_gpu, given_option::kTasksPerGpu>,
     "tasks for each GPU"},
    {"ntasks-per-node", 0, kAll, kValue, kHonoured,
     count<&ResourceRequest::tasks_per_node, given_option::kTasksPerNode, 0>,
     "tasks on each node"},
    {"ntasks-per-socket", 0, kAll, kValue, kHonoured,
     count<&JobSpec::tasks_per_socket, given_option::kTasksPerSocket>,
     "most tasks on a socket"},
    {"ntasks-per-tres", 0, kAll, kValue, kHonoured, tasks_per_tres, ""},
    {"oom-kill-step", 0, kAll, kMaybe, kRefused, nullptr, ""},
    {"open-mode", 0, kB | kR, kValue, kHonoured, open_mode, "append or truncate output files"},
    {"output", 'o', kB | kR, kValue, kHonoured, text<JobText::kStdOut>, "file for standard output"},
    {"overcommit", 'O', kAll, kNothing, kHonoured, job_flag<&ResourceRequest::is_overcommit>,
     "let tasks share CPUs"},
    {"overlap", 0, kR, kMaybe, kHonoured, overlap, "share CPUs and devices with other steps"},
    {"oversubscribe", 's', kAll, kNothing, kHonoured, shared, "may share nodes"},
    {"parsable", 0, kB, kNothing, kHonoured, flag<&SubmitOptions::is_parsable>,
     "print the job id alone"},
    {"parsable", 0, kR, kNothing, kRefused, nullptr, ""},
    {"partition", 'p', kAll, kValue, kHonoured, text<JobText::kPartition, given_option::kPartition>,
     "partition, or several with commas"},
    {"prefer", 0, kAll, kValue, kHonoured, prefer,
     "features that nodes may have: taken where they are free"},
    {"preserve-env", 'E', kR, kNothing, kRefused, nullptr, ""},
    {"priority", 0, kAll, kValue, kHonoured, priority, "priority (operators)"},
    {"profile", 0, kAll, kValue, kRefused, nullptr, ""},
    {"prolog", 0, kR, kValue, kRefused, nullptr, ""},
    {"propagate", 0, kB | kR, kMaybe, kHonoured, propagate,
     "limits to take along: ALL, NONE, NOFILE,..."},
    {"pty", 0, kR, kMaybe, kRefused, nullptr, ""},
    {"qos", 'q', kAll, kValue, kRecorded, text<JobText::kQos, given_option::kQos>,
     "quality of service (recorded, not checked: there is none yet)"},
    {"quiet", 'Q', kAll, kNothing, kHonoured, flag<&SubmitOptions::is_quiet>,
     "say nothing but errors"},
    {"quit-on-interrupt", 0, kR, kNothing, kHonoured, flag<&SubmitOptions::is_quit_on_interrupt>,
     "one Ctrl-C ends the tasks"},
    {"reboot", 0, kAll, kNothing, kRefused, nullptr, ""},
    {"relative", 'r', kR, kValue, kHonoured, relative, "begin at this node of the allocation"},
    {"requeue", 0, kB, kMaybe, kHonoured, requeue, "may run again after a failed node"},
    {"reservation", 0, kAll, kValue, kHonoured, set_text<&SubmitOptions::reservation>,
     "none is to be had: there are no reservations yet"},
    {"resources", 0, kAll, kValue, kRefused, nullptr, ""},
    {"resv-ports", 0, kAll, kMaybe, kRefused, nullptr, ""},
    {"runtime", 0, kAll, kValue, kRefused, nullptr, ""},
    {"segment", 0, kAll, kValue, kRefused, nullptr, ""},
    {"send-libs", 0, kR, kMaybe, kRefused, nullptr, ""},
    {"signal", 0, kAll, kValue, kHonoured, signal, "[B:]SIGNAL[@SECONDS] before the time limit"},
    {"slurmd-debug", 0, kR, kValue, kRefused, nullptr, ""},
    {"sockets-per-node", 0, kAll, kValue, kHonoured, count<&ResourceRequest::sockets_per_node>,
     "nodes with at least so many sockets"},
    {"spread-job", 0, kAll, kNothing, kHonoured, job_flag<&JobSpec::is_spread>,
     "over as many nodes as there are tasks"},
    {"spread-segments", 0, kAll, kNothing, kRefused, nullptr, ""},
    {"stepmgr", 0, kAll, kNothing, kRefused, nullptr, ""},
    {"switches", 0, kAll, kValue, kRefused, nullptr, ""},
    {"task-epilog", 0, kR, kValue, kRefused, nullptr, ""},
    {"task-prolog", 0, kR, kValue, kRefused, nullptr, ""},
    {"tasks-per-node", 0, kAll, kValue, kHonoured,
     count<&ResourceRequest::tasks_per_node, given_option::kTasksPerNode, 0>,
     ""},
    {"test-only", 0, kB | kR, kNothing, kHonoured, flag<&SubmitOptions::is_test_only>,
     "say when it would start; submit nothing"},
    {"thread-spec", 0, kAll, kValue, kRefused, nullptr, ""},
    {"threads", 'T', kR, kValue, kRefused, nullptr, ""},
    {"threads-per-core", 0, kAll, kValue, kHonoured,
     count<&ResourceRequest::threads_per_core, given_option::kThreadsPerCore>,
     "nodes with at least so many threads per core"},
    {"time", 't', kAll, kValue, kHonoured, time_limit,
     "time limit: minutes, h:m:s, d-h:m:s, UNLIMITED"},
    {"time-min", 0, kAll, kValue, kRefused, nullptr, ""},
    {"tmp", 0, kAll, kValue, kHonoured, tmp_disk, "least disk for temporary files"},
    {"treewidth", 0, kR, kValue, kRefused, nullptr, ""},
    {"tres-bind", 0, kAll, kValue, kHonoured, tres_bind, "gres/gpu: and what --gpu-bind takes"},
    {"tres-per-task", 0, kAll, kValue, kHonoured, tres_per_task, "cpu=N,gres/gpu=N for each task"},
    {"uid", 0, kB, kValue, kRefused, nullptr, ""},
    {"umask", 0, kB, kValue, kHonoured, umask, "file mode mask, octal"},
    {"unbuffered", 'u', kR, kNothing, kHonoured, step_flag<&StepSpec::is_unbuffered>,
     "output is never held back; for scripts that say so"},
    {"use-min-nodes", 0, kAll, kNothing, kHonoured, job_flag<&ResourceRequest::is_fewest_nodes>,
     "of a range of nodes the least"},
    // -W is another option for srun: rows are told apart by command.
    {"wait", 'W', kB, kNothing, kHonoured, flag<&SubmitOptions::is_wait>,
     "return when the job has ended, with its exit code"},
    {"wait", 'W', kR, kValue, kHonoured, wait_for_tasks,
     "end the step so many seconds after its first task ends"},
    {"wait-all-nodes", 0, kA | kB, kValue, kHonoured, wait_all_nodes,
     "start only when all nodes are ready (they always are)"},
    {"wait-for-children", 0, kR, kNothing, kRefused, nullptr, ""},
    {"wckey", 0, kAll, kValue, kRecorded, text<JobText::kWckey>,
     "key for accounting (recorded, not checked)"},
    {"whole", 0, kR, kNothing, kHonoured, flag<&SubmitOptions::is_whole>,
     "all CPUs of the job on each node of the step"},
    {"wrap", 0, kB, kValue, kHonoured, wrap, "run this command line in a shell"},
    {"x11", 0, kA | kR, kMaybe, kRefused, nullptr, ""},
    {"verbose", 'v', kAll, kNothing, kHonoured, verbose, "show what was asked for"},
    // Spellings of earlier versions.
    {"cpu_bind", 0, kR, kValue, kHonoured, cpu_bind, ""},
    {"cluster", 0, kAll, kValue, kHonoured, clusters, ""},
    {"pack-group", 0, kR, kValue, kRefused, nullptr, ""},
};

constexpr SubmitVariable kVariables[] = {
  // Where several say the same the later one counts. What as_is takes is read where it matters,
  // or only describes a job.
    {"ACCOUNT", "account", kAll}, {"ACCTG_FREQ", "acctg-freq", kAll},
    {"CLUSTER_CONSTRAINT", "cluster-constraint", kAll}, {"CLUSTERS", "clusters", kAll},
    {"CONSOLIDATE_SEGMENTS", "consolidate-segments", kAll}, {"CONSTRAINT", "constraint", kAll},
    {"CORE_SPEC", "core-spec", kAll}, {"CPUS_PER_GPU", "cpus-per-gpu", kAll},
    {"DELAY_BOOT", "delay-boot", kAll}, {"BURST_BUFFER", "bb", kAll},
    {"CPU_FREQ_REQ", "cpu-freq", kAll}, {"TRES_PER_TASK", "tres-per-task", kAll},
    {"CPUS_PER_TASK", "cpus-per-task", kR}, {"EXCLUSIVE", "exclusive", kAll},
    {"GPUS", "gpus", kAll}, {"GPU_BIND", "gpu-bind", kAll}, {"GPU_FREQ", "gpu-freq", kAll},
    {"GPUS_PER_NODE", "gpus-per-node", kAll}, {"GPUS_PER_SOCKET", "gpus-per-socket", kAll},
    {"GPUS_PER_TASK", "gpus-per-task", kAll}, {"GRES", "gres", kAll},
    {"GRES_FLAGS", "gres-flags", kAll}, {"HINT", "hint", kAll},
    {"SLURM_HINT", "hint", kA | kB, true}, {"SLURM_CLUSTERS", "clusters", kA | kB, true},
    {"MEM_BIND", "mem-bind", kAll}, {"MEM_PER_CPU", "mem-per-cpu", kAll},
    {"MEM_PER_GPU", "mem-per-gpu", kAll}, {"NETWORK", "network", kAll},
    {"NO_KILL", "no-kill", kAll}, {"OVERCOMMIT", "overcommit", kAll},
    {"PARTITION", "partition", kAll}, {"PROFILE", "profile", kAll}, {"QOS", "qos", kAll},
    {"RESERVATION", "reservation", kAll}, {"SIGNAL", "signal", kAll},
    {"SPREAD_JOB", "spread-job", kAll}, {"SPREAD_SEGMENTS", "spread-segments", kAll},
    {"MEM_PER_NODE", "mem", kAll}, {"REQ_SWITCH", "switches", kAll},
    {"WAIT4SWITCH", "switches", kAll}, {"THREAD_SPEC", "thread-spec", kAll},
    {"THREADS_PER_CORE", "threads-per-core", kAll}, {"TRES_BIND", "tres-bind", kAll},
    {"USE_MIN_NODES", "use-min-nodes", kAll}, {"WCKEY", "wckey", kAll}, {"TIMELIMIT", "time", kAll},
    {"SEGMENT_SIZE", "segment", kAll}, {"POWER", nullptr, kAll},
    {"WAIT_ALL_NODES", "wait-all-nodes", kA | kB}, {"CONTAINER", "container", kA | kB},
    {"CONTAINER_ID", "container-id", kA | kB}, {"CONTAINER_TYPE", nullptr, kA | kB},
    {"BELL", "bell", kA}, {"NO_BELL", "no-bell", kA}, {"KILL_CMD", "kill-command", kA},
    {"IMMEDIATE", "immediate", kA | kR}, {"DEBUG", nullptr, kAll, false, debug},
    {"ARRAY_INX", "array", kB}, {"BATCH", "batch", kB}, {"ERROR", "error", kB},
    {"EXPORT", "export", kB}, {"GET_USER_ENV", "get-user-env", kB},
    {"IGNORE_PBS", "ignore-pbs", kB}, {"INPUT", "input", kB}, {"NO_REQUEUE", "no-requeue", kB},
    {"OUTPUT", "output", kB}, {"REQUEUE", "requeue", kB}, {"SLURM_UMASK", "umask", kB, true},
    {"UMASK", "umask", kB},
    {"DISTRIBUTION", "distribution", kAll}, {"JOB_NAME", "job-name", kAll},
    {"OPEN_MODE", "open-mode", kB | kR}, {"WAIT", "wait", kB | kR}, {"BCAST", "bcast", kR},
    {"BCAST_EXCLUDE", "bcast-exclude", kR}, {"COMPRESS", "compress", kR},
    {"CPU_BIND", "cpu-bind", kR}, {"DEPENDENCY", "dependency", kR},
    {"DISABLE_STATUS", "disable-status", kR}, {"EPILOG", "epilog", kR}, {"EXACT", "exact", kR},
    {"OVERLAP", "overlap", kR}, {"PROLOG", "prolog", kR}, {"RESV_PORTS", "resv-ports", kR},
    {"SEND_LIBS", "send-libs", kR}, {"TASK_EPILOG", "task-epilog", kR},
    {"TASK_PROLOG", "task-prolog", kR}, {"THREADS", "threads", kR},
    {"OOM_KILL_STEP", "oom-kill-step", kR}, {"WHOLE", "whole", kR}, {"EXPORT_ENV", "export", kR},
    {"SRUN_EXPORT_ENV", "export", kR, true}, {"HOSTFILE", nullptr, kR, false, host_file},
    {"JOB_ID", "jobid", kR}, {"KILL_BAD_EXIT", "kill-on-bad-exit", kR}, {"LABELIO", "label", kR},
    {"MPI_TYPE", "mpi", kR}, {"JOB_NUM_NODES", "nodes", kR}, {"NNODES", "nodes", kR},
    {"NPROCS", "ntasks", kR}, {"NTASKS", "ntasks", kR},
    {"NCORES_PER_SOCKET", "cores-per-socket", kR}, {"NSOCKETS_PER_NODE", "sockets-per-node", kR},
    {"NTASKS_PER_CORE", "ntasks-per-core", kR}, {"NTASKS_PER_NODE", "ntasks-per-node", kR},
    {"NTASKS_PER_GPU", "ntasks-per-gpu", kR}, {"NTASKS_PER_SOCKET", "ntasks-per-socket", kR},
    {"NTASKS_PER_TRES", "ntasks-per-tres", kR}, {"REMOTE_CWD", "chdir", kR},
    {"WORKING_DIR", "chdir", kR}, {"SRUN_MULTI", "multi-prog", kR},
    {"UNBUFFEREDIO", "unbuffered", kR}, {"STDINMODE", "input", kR}, {"STDOUTMODE", "output", kR},
    {"STDERRMODE", "error", kR}, {"SRUN_INPUT", "input", kR, true},
    {"SRUN_OUTPUT", "output", kR, true}, {"SRUN_ERROR", "error", kR, true},
    {"SRUN_CONTAINER", "container", kR, true}, {"SRUN_CONTAINER_ID", "container-id", kR, true},
    {"SRUN_CONTAINER_TYPE", nullptr, kR, true}, {"SRUN_SEGMENT_SIZE", "segment", kR, true},
    {"SLURMD_DEBUG", "slurmd-debug", kR, true}, {"UMASK", nullptr, kR, false, umask},
    {"TEST_EXEC", nullptr, kR, false, flag<&SubmitOptions::is_program_checked>},
    {"WORKING_CLUSTER", nullptr, kR, false, working_cluster}, {"ARBITRARY_NODELIST", nullptr, kR},
    {"EXTERNAL_LAUNCHER", nullptr, kR}, {"STEP_GRES", nullptr, kR},
    {"STEP_KILLED_MSG_NODE_ID", nullptr, kR, false, as_is},
    {"SRUN_REDUCE_TASK_EXIT_MSG", nullptr, kR, false, brief_exit_report},
    {"EXIT_ERROR", nullptr, kR, false, as_is}, {"EXIT_IMMEDIATE", nullptr, kR, false, as_is},
    {"DIST_PLANESIZE", nullptr, kR, false, as_is}, {"JOB_NODELIST", nullptr, kR, false, as_is},
};
// clang-format on

bool is_memory(const SubmitRow& row) {
  // The three exclude each other within one source. Source: sbatch(1), --mem.
  const std::string_view name = row.name;
  return name == "mem" || name == "mem-per-cpu" || name == "mem-per-gpu";
}

bool is_gpu_amount(const SubmitRow& row, std::string_view value) {
  static constexpr std::string_view kNames[] = {"gpus", "gpus-per-node", "gpus-per-task", "gres"};
  // It may also name CPUs alone.
  if (std::string_view(row.name) == "tres-per-task")
    return value.find("gres") != std::string_view::npos;
  return std::ranges::find(kNames, std::string_view(row.name)) != std::end(kNames);
}

void forget_gpus(SubmitOptions& options) {
  // What a job's environment says of its GPUs is no wish of a step that asks for its own.
  options.gpus.clear();
  options.gpus_per_node.clear();
  options.gpus_per_task.clear();
  options.gres.clear();
  options.job.given &= ~(given_option::kGpus | given_option::kGpusPerNode |
                         given_option::kGpusPerTask | given_option::kGres);
}

std::vector<const SubmitRow*> rows_of(Submitter by) {
  std::vector<const SubmitRow*> rows;
  for (const SubmitRow& row : kRows) {
    if (has_option(row, by)) rows.push_back(&row);
  }
  return rows;
}

std::vector<OptionForm> forms_of(const std::vector<const SubmitRow*>& rows) {
  std::vector<OptionForm> forms;
  for (const SubmitRow* row : rows) forms.push_back({row->name, row->letter, row->takes});
  return forms;
}

/// Inside a step SLURM_CPU_BIND tells that step's masks, unless somebody has changed it since.
bool has_masks_of_step() {
  const std::string told = fmt::format("{},{}{}", environment_value("SLURM_CPU_BIND_VERBOSE"),
                                       environment_value("SLURM_CPU_BIND_TYPE"),
                                       environment_value("SLURM_CPU_BIND_LIST"));
  // Whoever changed the variable since means it: it then differs from the three beside it.
  return environment_value("SLURM_CPU_BIND_TYPE") == "mask_cpu:" &&
         environment_value("SLURM_CPU_BIND") == told;
}

/// Inside a job SLURM_JOB_NAME is the job's, not the step's.
bool is_of_the_job(const SubmitVariable& variable, Submitter by) {
  const std::string_view suffix = variable.suffix;
  if (by != Submitter::kRun) return false;
  return (suffix == "JOB_NAME" && !environment_value("SLURM_JOB_ID").empty()) ||
         (suffix == "CPU_BIND" && has_masks_of_step());
}

/// Flags are set by an empty variable, and of most values an empty one is refused; not of these.
/// Source: Slurm 22.05.8.
bool says_nothing_when_empty(const SubmitVariable& variable) {
  if (variable.option == nullptr) return true;
  static constexpr std::string_view kOptions[] = {"cpus-per-task",
                                                  "nodes",
                                                  "wait",
                                                  "dependency",
                                                  "array",
                                                  "umask",
                                                  "ntasks-per-core",
                                                  "ntasks-per-socket",
                                                  "wait-all-nodes",
                                                  "bcast",
                                                  "send-libs",
                                                  "clusters"};
  const std::string_view suffix = variable.suffix;
  // SLURM_JOB_NUM_NODES is refused when it is empty.
  return suffix != "JOB_NUM_NODES" &&
         std::ranges::find(kOptions, std::string_view(variable.option)) != std::end(kOptions);
}

std::string_view usage_of(Submitter by) {
  switch (by) {
    case Submitter::kBatch:
      return "Usage: sbatch [OPTIONS] [SCRIPT [ARGUMENTS]]\n"
             "Queues a batch script; without SCRIPT it is read from standard input.\n"
             "Inside a job, SLURM_* variables of that job are not passed on to the new one.\n";
    case Submitter::kAllocate:
      return "Usage: salloc [OPTIONS] [COMMAND [ARGUMENTS]]\n"
             "Waits for an allocation, runs the command here (a shell without one) and gives the "
             "allocation back.\n";
    case Submitter::kRun:
      return "Usage: srun [OPTIONS] COMMAND [ARGUMENTS]\n"
             "Runs tasks: inside a job as a step of it, otherwise in an allocation of its own.\n";
  }
  return "";
}

/// The first line of --usage, word for word as scripts and people know it.
std::string_view first_usage_line(Submitter by) {
  switch (by) {
    case Submitter::kBatch: return "Usage: sbatch [-N nnodes] [-n ntasks]";
    case Submitter::kAllocate:
      return "Usage: salloc [-N numnodes|[min nodes]-[max nodes]] [-n num-processors]";
    case Submitter::kRun: return "Usage: srun [-N nnodes] [-n ntasks] [-i in] [-o out] [-e err]";
  }
  return "";
}

}  // namespace

std::span<const SubmitRow> submit_rows() { return kRows; }
std::span<const SubmitVariable> submit_variables() { return kVariables; }
bool has_option(const SubmitRow& row, Submitter by) {
  return (row.commands & static_cast<std::uint8_t>(by)) != 0;
}

std::string variable_name(const SubmitVariable& variable, Submitter by) {
  // Some variables have the prefix of another command.
  return variable.is_whole_name ? variable.suffix
                                : fmt::format("{}{}", variable_prefix(by), variable.suffix);
}

std::string_view variable_prefix(Submitter by) {
  return by == Submitter::kBatch ? "SBATCH_" : by == Submitter::kAllocate ? "SALLOC_" : "SLURM_";
}

std::string SubmitReader::help() const {
  std::string text = std::string(usage_of(options_.by)) + "\n";
  std::vector<std::string> refused;
  for (const SubmitRow* row : rows_of(options_.by)) {
    // Aliases have no help and are not shown.
    if (*row->help != '\0') text += help_line({row->name, row->letter, row->takes}, row->help);
    if (row->use == OptionUse::kRefused) refused.push_back(option_name(row->name, 0));
  }
  return text + refused_text(refused);
}

std::string SubmitReader::usage() const {
  std::vector<OptionForm> shown;
  for (const SubmitRow* row : rows_of(options_.by)) {
    if (*row->help != '\0') shown.push_back({row->name, row->letter, row->takes});
  }
  const bool is_command_needed = options_.by != Submitter::kAllocate;
  return usage_text(first_usage_line(options_.by), shown,
                    is_command_needed ? "executable [args...]" : "[command [args...]]");
}

Status SubmitReader::set(const SubmitRow& row, std::string_view value, OptionSource source) {
  if (row.set == nullptr) return fail(refused_option(option_name(row.name, 0)));
  if (is_memory(row)) {
    // In one source; the command line replaces what a variable said.
    if (memory_source_ == source && memory_option_ != row.name) {
      return fail(ErrorCode::kInvalidArgument, ErrorCause::kExclusiveOptions,
                  "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
    }
    memory_source_ = source;
    memory_option_ = row.name;
  }
  if (is_gpu_amount(row, value)) {
    // What the environment says of an enclosing job's devices gives way to what is written here.
    if (gpu_source_ == OptionSource::kEnvironment && source == OptionSource::kCommandLine)
      forget_gpus(options_);
    gpu_source_ = source;
  }
  TRY(row.set(options_, value));
  if (source == OptionSource::kCommandLine) options_.written.emplace_back(row.name);
  // For --verbose, and for options without a value.
  options_.defined[row.name] = value.empty() ? "set" : std::string(value);
  // A warning about nodes is for those who wrote the number.
  if (std::string_view(row.name) == "nodes")
    options_.is_nodes_written = source != OptionSource::kEnvironment;
  return {};
}

ReadWords SubmitReader::read(const Words& words, OptionSource source) {
  const auto rows = rows_of(options_.by);
  const auto forms = forms_of(rows);
  return read_words(
      console_, words, forms, Operands::kEndOptions,
      [&](std::size_t index, std::optional<std::string_view> value) -> std::optional<int> {
        const std::string_view given = value.value_or(std::string_view());
        const Status done = set(*rows[index], given, source);
        if (done.has_value()) return std::nullopt;
        return refuse_value(console_, options_.by, OptionValue{rows[index]->name, given},
                            // Words of a script and of the command line alike.
                            done.error());
      },
      ReaderAnswers{[this] { return help(); }, [this] { return usage(); }, kExitBadOption});
}

std::optional<int> SubmitReader::set_variable(const SubmitVariable& variable,
                                              const std::string& value) {
  const std::string name = variable_name(variable, options_.by);
  const std::string origin = fmt::format("from {}={}", name, value);
  const auto outcome_of = [&](std::string_view option, const Status& done) -> std::optional<int> {
    if (done.has_value()) return std::nullopt;
    return refuse_value(console_, options_.by, OptionValue{option, value, origin}, done.error());
  };
  if (variable.option == nullptr) {
    // Variables without an option of their own.
    if (variable.set != nullptr) return outcome_of(name, variable.set(options_, value));
    // "0" or "no" asks for nothing: no reason to refuse.
    return is_switched_off(value) ? std::nullopt : outcome_of(name, fail(refused_option(name)));
  }
  const auto rows = rows_of(options_.by);
  const auto found = std::ranges::find_if(
      rows, [&](const SubmitRow* r) { return std::string_view(r->name) == variable.option; });
  if (found == rows.end()) return std::nullopt;
  const SubmitRow& row = **found;
  const bool is_flag = row.takes == Takes::kNothing;
  // A flag's variable that is 0 or no leaves it unset.
  if (is_flag && !is_switched_on(value)) return std::nullopt;
  // Of a refused option nothing is asked for by an empty value.
  if (row.set == nullptr && (value.empty() || is_switched_off(value))) return std::nullopt;
  return outcome_of(row.name,
                    set(row, is_flag ? std::string_view() : value, OptionSource::kEnvironment));
}

std::optional<int> SubmitReader::read_environment() {
  for (const SubmitVariable& variable : kVariables) {
    if ((variable.commands & static_cast<std::uint8_t>(options_.by)) == 0 ||
        is_of_the_job(variable, options_.by))
      continue;
    const char* value = std::getenv(variable_name(variable, options_.by).c_str());
    // Unset differs from empty: an empty value may be a value.
    if (value == nullptr || (*value == '\0' && says_nothing_when_empty(variable))) continue;
    if (const auto code = set_variable(variable, value)) return code;
  }
  return std::nullopt;
}

}  // namespace muster::cli
