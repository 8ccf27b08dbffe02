package load

import (
	"sync"
	"sync/atomic"
	"time"
)

// Closed sends the request on all connections at once, each time again when its answer has ended, for as long as told. It counts
// the answers. A connection that fails is not used further; the first failure is returned.
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
