// Reads slurm.conf into a ClusterConfig with effective values. A key that Muster does not know or
// does not honour is an error that names it: a site must never believe that a setting is in force
// when it is not. How each key is handled, and why, stands in the tables behind `slurm_conf_keys`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster_config.h"
#include "slurm/conf/conf_finding.h"
#include "slurm/conf/conf_key.h"
#include "slurm/conf/conf_lines.h"

namespace muster {

/// SlurmctldHost=NAME(ADDRESS): the first is the primary.
struct ControllerHost {
  std::string name;
  std::string address;  ///< the name unless given
  friend bool operator==(const ControllerHost&, const ControllerHost&) = default;
};

/// How HTTP is served. Zero of a number: the daemon's own choice.
struct HttpSettings {
  std::string
      listen;  ///< MusterHttp: host:port, port 0: one that is free; empty: HTTP is not served
  std::vector<std::string>
      hosts;  ///< MusterHttpHosts: further names under which the controller is asked
  std::string services_listen;  ///< MusterHttpServices: host:port where what jobs serve is shown;
                                ///< empty: a free port beside `listen`
  std::string services_url;  ///< MusterHttpServicesUrl: how browsers get there; empty: by the name
                             ///< that they asked with
  std::uint32_t connections_max = 0;  ///< MusterHttpConnections
  std::uint32_t peer_connections_max =
      0;  ///< MusterHttpPeerConnections: of one address, or of one user of this machine
  std::uint32_t user_requests_max =
      0;  ///< MusterHttpUserRequests: of one user, or of one job, under way at once
  std::uint32_t token_days = 30;  ///< MusterHttpTokenDays: the longest that a token lasts
  std::string defaults_file;  ///< MusterDefaults: what experiments that come over HTTP are given;
                              ///< empty: nothing
  friend bool operator==(const HttpSettings&, const HttpSettings&) = default;
};

/// Settings that the daemons read at their start and that change no decision: where they listen,
/// store and log. Paths are as written; %n and %h in them are the agent's to replace.
struct DaemonSettings {
  std::vector<ControllerHost> controllers;
  std::string user =
      "root";  ///< SlurmUser: an operator, beside root and whom the controller runs as
  std::vector<std::string> operators;  ///< MusterOperators: users who may all that an operator may
  std::uint16_t controller_port = 6817;
  std::uint16_t agent_port = 6818;
  std::string state_folder = "/var/spool";         ///< StateSaveLocation
  std::string spool_folder = "/var/spool/slurmd";  ///< SlurmdSpoolDir
  std::string
      controller_address;  ///< MusterController: unix:PATH; empty: controller.sock beside the file
  HttpSettings http;
  std::string hosts_file;           ///< MusterHosts: bound over /etc/hosts for tasks; empty: none
  bool is_config_override = false;  ///< SlurmdParameters=config_overrides
  std::string controller_log;       ///< empty: the system log
  std::string agent_log;
  friend bool operator==(const DaemonSettings&, const DaemonSettings&) = default;
};

/// The condition that a node's State= gives it before it has ever registered.
struct InitialNode {
  std::uint16_t conditions = node_condition::kUnknown;
  std::string reason;
  friend bool operator==(const InitialNode&, const InitialNode&) = default;
};

struct SlurmConf {
  ClusterConfig cluster;
  DaemonSettings daemons;
  std::vector<InitialNode> initial_nodes;  ///< index = NodeIndex
  std::vector<ConfFinding>
      findings;  ///< what an operator should know of: keys without effect, old spellings, mistakes
  friend bool operator==(const SlurmConf&, const SlurmConf&) = default;
};

/// Reads the text of a slurm.conf; `file` is its name in errors. Values are effective: nodes have
/// their product of CPUs, address and port; partitions their node indices and the cluster's memory
/// defaults where they set none. `settings.shown` is what `scontrol show config` prints
/// (conf_shown.h). Requires of the file: ClusterName, SlurmctldHost, one node, one partition.
/// Errors: the first finding that is fatal, as kInvalidArgument or kUnimplemented "FILE:LINE: ..."
/// naming key and value, with the way out as detail. Source: slurm.conf(5).
Result<SlurmConf> parse_slurm_conf(std::string_view file, std::string_view text,
                                   const IncludeReader& read_include = nullptr);

/// Reads the same without an end at the first mistake: every line is read, and `findings` has all
/// that there is to say, line by line and then what concerns the whole. Where one of them is fatal
/// the rest is as good as could be read.
SlurmConf read_slurm_conf(std::string_view file, std::string_view text,
                          const IncludeReader& read_include = nullptr);

/// A row of the tables, without its functions.
struct SlurmConfKey {
  std::string_view record;  ///< "", "NodeName" or "PartitionName"
  std::string_view name;
  ConfHandling handling = ConfHandling::kHonoured;
  std::string_view reason;
};

/// Returns every key that is known, record by record in the tables' order: what the manual prints
/// and the tests check.
std::vector<SlurmConfKey> slurm_conf_keys();

}  // namespace muster
