package load

import (
	"sync"
	"sync/atomic"
	"time"
)

// Closed sends the request on all connections concurrently, again whenever its answer has ended, until lasts is over. It counts
// the answers. A failed connection is not used further; the first failure is returned.
func Closed(conns []*Conn, request []byte, lasts time.Duration) (int, error) {
	var (
		answers atomic.Int64
		failed  error
		once    sync.Once
		all     sync.WaitGroup
	)
	end := time.Now().Add(lasts)
	for _, conn := range conns {
		all.Go(func() {
			n := int64(0)
			for time.Now().Before(end) {
				if err := conn.Exchange(request); err != nil {
					once.Do(func() { failed = err })
					break
				}
				n++
			}
			answers.Add(n)
		})
	}
	all.Wait()
	return int(answers.Load()), failed
}
