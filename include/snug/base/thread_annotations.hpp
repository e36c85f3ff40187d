// Clang's thread-safety attributes. `clang-tidy-19` compiles with -Wthread-safety, so that an
// access to a member without its mutex is an error of the lint step; g++ ignores them. See
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html.
#pragma once

#if defined(__clang__)
#define SNUG_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define SNUG_THREAD_ATTRIBUTE(x)
#endif

// A class that is a lock.
#define SNUG_CAPABILITY(name) SNUG_THREAD_ATTRIBUTE(capability(name))
// A class that holds a lock for as long as it lives.
#define SNUG_SCOPED_CAPABILITY SNUG_THREAD_ATTRIBUTE(scoped_lockable)
// A member that is read and written only while `mutex` is held; of a pointer: what it points to.
#define SNUG_GUARDED_BY(mutex) SNUG_THREAD_ATTRIBUTE(guarded_by(mutex))
#define SNUG_PT_GUARDED_BY(mutex) SNUG_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
// The caller holds the mutex; the caller does not hold it.
#define SNUG_REQUIRES(...) SNUG_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define SNUG_EXCLUDES(...) SNUG_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// A function that locks; that unlocks; that locks if it returns the first argument.
#define SNUG_ACQUIRE(...) SNUG_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define SNUG_RELEASE(...) SNUG_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define SNUG_TRY_ACQUIRE(...) SNUG_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
// A function that returns a reference to `mutex`.
#define SNUG_RETURNS(mutex) SNUG_THREAD_ATTRIBUTE(lock_returned(mutex))
// For the bodies of the locks themselves.
#define SNUG_NO_THREAD_ANALYSIS SNUG_THREAD_ATTRIBUTE(no_thread_safety_analysis)
