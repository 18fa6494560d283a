// A worker may be lost in any way: each is one verdict, and the next run works.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/unit/run/toy.h"

namespace moediff {
namespace {

using testing::HasSubstr;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// Children of this process, zombies too.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::ifstream list("/proc/self/task/" + std::to_string(getpid()) + "/children");
  for (pid_t pid = 0; list >> pid;) found.push_back(pid);
  return found;
}

struct Loss {
  std::string variant;
  RunStatus status;
  std::string detail;
};

class LostWorker : public testing::TestWithParam<Loss> {};

TEST_P(LostWorker, IsOneVerdictAndTheNextRunWorks) {
  const auto executor = make_executor(toy::options());
  const Program program = toy::program();
  RunRequest request = toy::request(program, GetParam().variant);
  request.timeout_seconds = GetParam().status == RunStatus::hang ? 0.3 : 10;
  const auto lost = executor->run(request);
  EXPECT_EQ(lost.status, GetParam().status);
  EXPECT_THAT(lost.detail, HasSubstr(GetParam().detail));
  EXPECT_EQ(lost.failing_step, toy::kResidualAdd);
  const auto next = executor->run(toy::request(program));
  EXPECT_EQ(next.status, RunStatus::ok) << next.detail;
  EXPECT_EQ(next.capture.operands[toy::kResidualAdd][2], toy::expected_layer_out());
}

INSTANTIATE_TEST_SUITE_P(Ways, LostWorker,
                         testing::Values(Loss{"crash", RunStatus::crash,
                                              "signal 11 (SIGSEGV) in step residual_add (kernel residual_kernel)"},
                                         Loss{"abort", RunStatus::crash, "signal 6 (SIGABRT) in step residual_add"},
                                         Loss{"kill", RunStatus::error, "signal 9 (SIGKILL) in step residual_add"},
                                         Loss{"exit", RunStatus::crash, "exit code 3 in step residual_add"},
                                         Loss{"hang", RunStatus::hang,
                                              "no end within 0.3 s in step residual_add (kernel residual_kernel)"},
                                         Loss{"garbage", RunStatus::crash, "makes no sense"}),
                         [](const auto& way) { return way.param.variant; });

TEST(Worker, KilledFromOutsideWhileItWorksGetsOneMoreTry) {
  const auto executor = make_executor(toy::options());
  const Program program = toy::program();
  ASSERT_EQ(children().size(), 1u);
  const pid_t worker = children()[0];
  std::thread killer([worker] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(worker, SIGKILL);
  });
  RunRequest request = toy::request(program, "hang");
  request.timeout_seconds = 1;
  const auto run = executor->run(request);
  killer.join();
  EXPECT_EQ(run.status, RunStatus::hang) << "the second try says what the candidate does: " << run.detail;
  EXPECT_NE(children(), std::vector<pid_t>{worker});
}

TEST(Worker, KilledBetweenTwoRunsIsReplacedWithoutAVerdict) {
  const auto executor = make_executor(toy::options());
  const Program program = toy::program();
  executor->run(toy::request(program));
  kill(children().at(0), SIGKILL);
  const auto run = executor->run(toy::request(program));
  EXPECT_EQ(run.status, RunStatus::ok) << run.detail;
}

TEST(Worker, FiftyRunsLeakNoDescriptorAndNoZombie) {
  const std::size_t before = open_descriptors();
  {
    const auto executor = make_executor(toy::options());
    const Program program = toy::program();
    executor->run(toy::request(program));
    const std::size_t running = open_descriptors();
    for (int i = 0; i < 50; ++i) {
      const std::string variant = i % 10 == 9 ? "crash" : "";
      EXPECT_EQ(executor->run(toy::request(program, variant)).status, i % 10 == 9 ? RunStatus::crash : RunStatus::ok);
    }
    executor->run(toy::request(program));
    EXPECT_EQ(open_descriptors(), running);
    EXPECT_EQ(children().size(), 1u);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(children().empty());
}

TEST(Worker, HoldsNoDescriptorOfItsParent) {
  const int inherited = fcntl(STDIN_FILENO, F_DUPFD, 100);  // without close-on-exec
  const auto executor = make_executor(toy::options());
  const std::string path = "/proc/" + std::to_string(children().at(0)) + "/fd/" + std::to_string(inherited);
  std::error_code ignored;
  const std::string target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(inherited));
  const std::string theirs = std::filesystem::read_symlink(path, ignored);
  close(inherited);
  EXPECT_NE(theirs, target);
}

/// False for a zombie: an orphan is reaped by init, where there is one.
bool is_running(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(status, line);
  return !line.empty() && line.find(") Z") == std::string::npos;
}

TEST(Worker, DiesWithItsParentEvenWhileItHangs) {
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const auto executor = make_executor(toy::options());
    const pid_t worker = children().at(0);
    std::thread hanging([&] {
      const Program program = toy::program();
      executor->run(toy::request(program, "hang"));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const bool told = write(report[1], &worker, sizeof worker) == sizeof worker;
    raise(told ? SIGKILL : SIGABRT);
  }
  pid_t worker = -1;
  ASSERT_EQ(read(report[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
  waitpid(parent, nullptr, 0);
  close(report[0]);
  close(report[1]);
  for (int i = 0; i < 200 && is_running(worker); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const bool survived = is_running(worker);
  if (survived) kill(worker, SIGKILL);
  EXPECT_FALSE(survived);
}

/// The worker's command is this program, which plays a worker that answers nonsense for the backend `liar`.
TEST(Worker, AnAnswerThatDoesNotFitTheProgramIsACrash) {
  const std::string folder = testing::TempDir() + "moediff_liar";
  std::filesystem::create_directories(folder);
  for (const char* module : {"/libmoediff_liar.so", "/libmoediff_fake_liar.so"}) std::ofstream(folder + module) << "x";
  ExecutorOptions options = toy::options("liar");
  options.module_dir = folder;
  const Program program = toy::program();
  const auto run = make_executor(options)->run(toy::request(program));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(run.status, RunStatus::crash);
  EXPECT_THAT(run.detail, HasSubstr("makes no sense"));
}

TEST(Worker, AStartThatFailsIsNoVerdict) {
  ExecutorOptions options = toy::options();
  options.worker_command = "/no/such/program";
  EXPECT_ANY_THROW(make_executor(options));
  options.worker_command = "/bin/true";
  EXPECT_ANY_THROW(make_executor(options));
}

}  // namespace
}  // namespace moediff
