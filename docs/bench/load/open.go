package load

import (
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Open sends the request rate times a second, whatever happens to earlier ones. Each answer's time is counted from the moment
// when its request was due: a wait for a free connection, or for this program, counts. The times are returned sorted.
func Open(conns []*Conn, request []byte, rate int, lasts time.Duration) ([]time.Duration, error) {
	free := make(chan *Conn, len(conns))
	for _, conn := range conns {
		free <- conn
	}
	var (
		mu     sync.Mutex
		took   []time.Duration
		failed error
		all    sync.WaitGroup
	)
	runtime.LockOSThread() // for the thread's timer slack
	defer runtime.UnlockOSThread()
	preciseSleep()
	begun, step := time.Now(), time.Second/time.Duration(rate)
	for due := time.Duration(0); due < lasts; due += step {
		sleep(due - time.Since(begun))
		conn := <-free
		_, err := conn.Write(request)
		all.Go(func() {
			if err == nil {
				err = conn.answer()
			}
			late := time.Since(begun) - due
			mu.Lock()
			defer mu.Unlock()
			if took = append(took, late); err != nil && failed == nil {
				failed = err
			}
			free <- conn
		})
	}
	all.Wait()
	slices.Sort(took)
	return took, failed
}

// Quantile returns the least time that a share q of them does not exceed; q is in 0…1.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// preciseSleep makes the kernel end this thread's sleeps on time; by default they may last 50 µs longer.
func preciseSleep() {
	const setTimerSlack = 29
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
}

// sleep sleeps in the kernel. time.Sleep waits in steps of a millisecond when a program is idle.
func sleep(d time.Duration) {
	if d > 0 {
		left := syscall.NsecToTimespec(d.Nanoseconds())
		_ = syscall.Nanosleep(&left, nil) // a signal cuts it short by less than the next one makes up for
	}
}
