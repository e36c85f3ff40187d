// Mutexes that Clang's thread-safety analysis understands. Use these in place of <mutex> and
// <condition_variable>, and mark each member that a mutex guards with SNUG_GUARDED_BY.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "snug/base/thread_annotations.hpp"

namespace snug::base {

class SNUG_CAPABILITY("mutex") Mutex {
 public:
  void lock() SNUG_ACQUIRE() { mutex_.lock(); }
  void unlock() SNUG_RELEASE() { mutex_.unlock(); }
  bool try_lock() SNUG_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// A fair mutex: if a thread unlocks it and locks it again at once, a thread that was already
// waiting gets it first. With std::mutex, a thread that unlocks only briefly between the parts of a
// long task could keep all other threads waiting.
class SNUG_CAPABILITY("mutex") FairMutex {
 public:
  void lock() SNUG_ACQUIRE() SNUG_NO_THREAD_ANALYSIS {
    const std::lock_guard turn(next_turn_);
    main_mutex_.lock();
  }
  void unlock() SNUG_RELEASE() SNUG_NO_THREAD_ANALYSIS { main_mutex_.unlock(); }

 private:
  std::mutex next_turn_;  // held by the thread that will lock `main_mutex_` next
  std::mutex main_mutex_;
};

// Locks a mutex until the end of the scope. unlock() unlocks the mutex earlier; lock() then locks
// it again.
template <typename AnyMutex = Mutex>
class SNUG_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(AnyMutex& mutex) SNUG_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() SNUG_RELEASE() {
    if (locked_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() SNUG_RELEASE() {
    locked_ = false;
    mutex_.unlock();
  }
  void lock() SNUG_ACQUIRE() {
    mutex_.lock();
    locked_ = true;
  }

 private:
  AnyMutex& mutex_;
  bool locked_ = true;
};

// Unlocks a mutex until the end of the scope, and then locks it again. The caller must hold the
// mutex.
template <typename AnyMutex = Mutex>
class SNUG_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(AnyMutex& mutex) SNUG_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~MutexUnlock() SNUG_RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  AnyMutex& mutex_;
};

// A condition variable. Predicates must not throw. A predicate that reads members guarded by
// `mutex_` needs an annotation: `[this]() SNUG_REQUIRES(mutex_) { return …; }`.
class Condition {
 public:
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

  // Waits for a notification. May return without one, so call it in a loop that checks the
  // condition.
  void wait(Mutex& mutex) SNUG_REQUIRES(mutex) {
    Adopted adopted(mutex);
    changed_.wait(adopted.lock);
  }
  template <typename Predicate>
  void wait(Mutex& mutex, Predicate done) SNUG_REQUIRES(mutex) {
    Adopted adopted(mutex);
    changed_.wait(adopted.lock, done);
  }
  // Waits for a notification until `deadline`. May return early, so call it in a loop.
  template <typename Clock, typename Duration>
  void wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline)
      SNUG_REQUIRES(mutex) {
    Adopted adopted(mutex);
    changed_.wait_until(adopted.lock, deadline);
  }
  // Waits until done() is true or `deadline` has passed. Returns the last result of done().
  template <typename Clock, typename Duration, typename Predicate>
  bool wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline, Predicate done)
      SNUG_REQUIRES(mutex) {
    Adopted adopted(mutex);
    return changed_.wait_until(adopted.lock, deadline, done);
  }
  template <typename Rep, typename Period, typename Predicate>
  bool wait_for(Mutex& mutex, std::chrono::duration<Rep, Period> time, Predicate done)
      SNUG_REQUIRES(mutex) {
    Adopted adopted(mutex);
    return changed_.wait_for(adopted.lock, time, done);
  }

 private:
  // Wraps a locked mutex in the std::unique_lock that std::condition_variable needs. The destructor
  // leaves the mutex locked.
  struct Adopted {
    explicit Adopted(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Adopted() { lock.release(); }
    Adopted(const Adopted&) = delete;
    Adopted& operator=(const Adopted&) = delete;
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable changed_;
};

}  // namespace snug::base
