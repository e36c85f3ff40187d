// Processes is the ProcessPort: it starts programs without a shell, and watches processes that
// others have started. It reaps every child of this program, also those that it did
// not start: snug-mps is the first process of its container, which inherits orphans. So a program
// has one Processes, and no other code in it may start children. Not thread-safe; other threads may
// exist.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "snug/base/result.hpp"
#include "snug/mps_service/ports.hpp"

namespace snug::process {

class Processes final : public mps_service::ProcessPort {
 public:
  Processes() = default;
  ~Processes() override;  // leaves the processes as they are
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  [[nodiscard]] base::Result<int> start(const mps_service::Program& program) override;
  [[nodiscard]] base::Result<int> find_daemon(const std::string& pipe_folder) override;
  [[nodiscard]] base::Result<void> adopt(int id) override;
  [[nodiscard]] std::optional<mps_service::Ending> take_ending(int id) override;
  void send(int id, int signal_number) override;
  void abandon(int id) override;

 private:
  struct Watched {
    bool is_child = true;
    int handle = -1;  // of a child: where its output is read; else its pidfd
    std::optional<int> status;
    std::string output;
  };

  void reap();
  void read_output(Watched& watched);

  std::map<int, Watched> watched_;
};

}  // namespace snug::process
