// Clang's thread-safety attributes. The lint step runs `clang-tidy-19` with -Wthread-safety and
// fails if code accesses a guarded member without holding its mutex. g++ ignores the attributes.
// See https://clang.llvm.org/docs/ThreadSafetyAnalysis.html.
#pragma once

#if defined(__clang__)
#define SNUG_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define SNUG_THREAD_ATTRIBUTE(x)
#endif

// A class that is a mutex.
#define SNUG_CAPABILITY(name) SNUG_THREAD_ATTRIBUTE(capability(name))
// A class whose objects hold a mutex for their lifetime.
#define SNUG_SCOPED_CAPABILITY SNUG_THREAD_ATTRIBUTE(scoped_lockable)
// SNUG_GUARDED_BY: a member that may be accessed only while `mutex` is held. SNUG_PT_GUARDED_BY: a
// pointer member whose target may be accessed only while `mutex` is held.
#define SNUG_GUARDED_BY(mutex) SNUG_THREAD_ATTRIBUTE(guarded_by(mutex))
#define SNUG_PT_GUARDED_BY(mutex) SNUG_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
// Functions whose caller must hold the mutex (REQUIRES), or must not hold it (EXCLUDES).
#define SNUG_REQUIRES(...) SNUG_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define SNUG_EXCLUDES(...) SNUG_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// SNUG_ACQUIRE: a function that locks a mutex. SNUG_RELEASE: a function that unlocks a mutex.
// SNUG_TRY_ACQUIRE(value): a function that has locked a mutex if it returns `value`, and has not
// locked it otherwise.
#define SNUG_ACQUIRE(...) SNUG_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define SNUG_RELEASE(...) SNUG_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define SNUG_TRY_ACQUIRE(...) SNUG_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
// A function that returns a reference to `mutex`.
#define SNUG_RETURNS(mutex) SNUG_THREAD_ATTRIBUTE(lock_returned(mutex))
// A function that the analysis skips: the implementation of a mutex.
#define SNUG_NO_THREAD_ANALYSIS SNUG_THREAD_ATTRIBUTE(no_thread_safety_analysis)
