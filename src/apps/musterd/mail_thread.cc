// Runs MailProg: one at a time, `MailProg -s SUBJECT USER` with an empty body, as Slurm does.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "apps/musterd/threads.h"
#include "env/posix/process_runner.h"
#include "workload/mail/mail_queue.h"

namespace muster::daemon {
namespace {

/// A program that takes longer is ended, so that one hanging mail system does not hold all mails.
constexpr int kTimeoutMs = 30'000;
constexpr int kPollMs = 20;
void log_failure(const MailOrder& order, const std::string& why) {
  fmt::print(stderr, "musterd: mail about job {} to {}: {}\n", order.mail.job.value(),
             order.mail.to, why);
}

/// What an option or a second header could be made of.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

/// The program reads words that users chose: it runs with the rights of the job's owner.
ProcessSpec process_for(const MailOrder& order) {
  ProcessSpec spec;
  // Each an argument of its own: no shell reads what users chose.
  spec.arguments = {order.program, "-s", one_line(order.mail.subject), order.mail.to};
  spec.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                      fmt::format("SLURM_JOB_ID={}", order.mail.job.value()),
                      "SLURM_JOB_NAME=" + order.mail.job_name,
                      "SLURM_JOB_MAIL_TYPE=" + order.mail.type};
  // A folder that is there for every user.
  spec.work_dir = "/";
  const bool is_root = ::geteuid() == 0;
  spec.user = ProcessUser{is_root ? order.mail.user.value() : ::geteuid(),
                          is_root ? order.mail.group.value() : ::getegid(), ""};
  return spec;
}

void send(const MailOrder& order) {
  // An option, or more than one line.
  if (order.mail.to.starts_with('-') || one_line(order.mail.to) != order.mail.to) {
    log_failure(order, "not sent: that is no address");
    return;
  }
  const auto pid = start_process(process_for(order));
  if (!pid.has_value()) {
    log_failure(order, pid.error().text());
    return;
  }
  // Polled, because waitpid has no time limit.
  int status = 0;
  for (int waited = 0; ::waitpid(*pid, &status, WNOHANG) == 0; waited += kPollMs) {
    if (waited >= kTimeoutMs) {
      ::kill(*pid, SIGKILL);
      ::waitpid(*pid, &status, 0);
      break;
    }
    ::usleep(kPollMs * 1000);
  }
  if (status != 0)
    log_failure(order, fmt::format("{} failed with status {}", order.program, status));
}

}  // namespace

void run_mail(Channels& channels) {
  lower_priority();
  MailQueue waiting;
  for (;;) {
    if (waiting.is_empty()) wait_for(channels.mail.fd(), 60'000);
    for (MailOrder& order : channels.mail.receive_all()) {
      if (!waiting.add(order))
        log_failure(order, "dropped: too many mails of this user wait for MailProg");
    }
    if (const auto order = waiting.next()) send(*order);
  }
}

}  // namespace muster::daemon
