// Jobs that come over HTTP: what a shell would have said is said here, as plainly as possible.

#include "api/determined/plain_job.h"

namespace muster::api {

std::shared_ptr<JobSpec> plain_job(const UserAccount& user, std::string_view command) {
  auto job = std::make_shared<JobSpec>();
  job->text.set(JobText::kWorkDir, user.home);
  job->text.set(JobText::kCommand, std::string(command));
  return job;
}

std::string plain_environment(const UserAccount& user, const std::string& name) {
  std::string block;
  // What login gives; nothing of the controller's own environment reaches a job.
  for (const std::string& variable :
       {std::string("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        "HOME=" + user.home, "USER=" + name, "LOGNAME=" + name, "SHELL=" + user.shell,
        std::string("LANG=C.UTF-8")}) {
    block.append(variable).push_back('\0');
  }
  return block;
}

std::shared_ptr<JobSpec> service_job(const JobSpec& like, ServiceKind kind) {
  auto job = std::make_shared<JobSpec>();
  // Where it runs and under which limits, as the experiment's job; nothing else of it.
  for (const JobText key : {JobText::kWorkDir, JobText::kPartition, JobText::kAccount,
                            JobText::kQos, JobText::kRlimits, JobText::kFeatures}) {
    job->text.set(key, std::string(like.get(key)));
  }
  job->text.set(JobText::kName, kind == ServiceKind::kTensorboard  ? "tensorboard"
                                : kind == ServiceKind::kCheckpoint ? "checkpoint.download"
                                                                   : "checkpoint.rm");
  job->text.set(JobText::kCommand, std::string(service_command(kind)));
  for (const JobText key : {JobText::kStdOut, JobText::kStdErr}) job->text.set(key, "/dev/null");
  job->request.edit()->max_nodes = 1;
  // Only its user reads what it makes.
  job->umask = 077;
  // It is of this moment: started again it would serve nobody.
  job->is_requeue = false;
  job->given = given_option::kTaskCount | given_option::kNodes | given_option::kRequeue;
  return job;
}

}  // namespace muster::api
