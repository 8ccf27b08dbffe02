package failover

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
)

// wire is the network between one replica and Redis, as a hook of the replica's client.
type wire struct {
	world *world
	name  string // of the replica

	mu    sync.Mutex
	fresh func(context.Context) error // reports the connections that calls make; nil: there is one
	lets  passage
	calls int       // for how many more; 0: until the next change
	ill   time.Time // when a call fared badly last
}

// lateCall is a call that its caller has given up and that Redis still executes.
type lateCall struct {
	args [][]any
	from string
	sent time.Time
}

// latest is the longest delay of a call. Settled holds are remembered for longer.
const latest = 12 * time.Minute

func (n *wire) set(lets passage, calls int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lets != works || lets != works {
		n.ill = time.Now()
	}
	n.lets, n.calls = lets, calls
}

// sureAfter is the time after the last failed call by which a replica certainly calls Redis again.
const sureAfter = 2 * time.Second

// sure reports whether the replica certainly calls Redis.
func (n *wire) sure() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lets == works && time.Since(n.ill) >= sureAfter
}

// now is the current passage.
func (n *wire) now() passage {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lets
}

// reaches reports whether calls work, now or after the next one.
func (n *wire) reaches() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lets == works || n.lets == isRefused && n.calls == 1
}

// take returns the passage of the next call.
func (n *wire) take() passage {
	n.mu.Lock()
	defer n.mu.Unlock()
	lets := n.lets
	if lets != works {
		n.ill = time.Now()
	}
	if n.calls > 0 {
		if n.calls--; n.calls == 0 {
			n.lets = works
		}
	}
	return lets
}

// DialHook does not change dialling.
func (n *wire) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook makes a call fare as the story wants.
func (n *wire) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return n.call(ctx, func(part []redis.Cmder) error {
			if len(part) == 0 {
				return nil
			}
			return next(ctx, cmd)
		}, []redis.Cmder{cmd})
	}
}

// ProcessPipelineHook gives all calls of a round trip one fate, unless it is cut in the middle.
func (n *wire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name == "hello" || name == "select" || name == "auth" { // a connection's first commands
			return next(ctx, cmds)
		}
		return n.call(ctx, func(part []redis.Cmder) error {
			if len(part) == 0 {
				return nil
			}
			return next(ctx, part)
		}, cmds)
	}
}

// reconnect lets calls make connections until one is usable: the library replaces those that Redis has closed silently.
func (n *wire) reconnect(connected func(context.Context) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fresh = connected
}

func (n *wire) connect(ctx context.Context) error {
	n.mu.Lock()
	connected := n.fresh
	n.mu.Unlock()
	if connected == nil {
		return nil
	}
	err := connected(ctx)
	if err == nil {
		n.reconnect(nil)
	}
	return err
}

func (n *wire) call(ctx context.Context, make func(part []redis.Cmder) error, cmds []redis.Cmder) (err error) {
	lost := cmds
	switch n.take() {
	case works:
		if err = n.connect(ctx); err == nil {
			n.world.reached()
			return make(cmds)
		}
	case isSlow:
		n.world.reached()
		err := make(cmds)
		time.Sleep(100 * time.Millisecond)
		return err
	case isAway:
		err = limit.ErrAway
	case isRefused:
		err = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	case isCut:
		n.world.reached()
		_ = make(cmds[:len(cmds)/2])
		lost, err = cmds[len(cmds)/2:], io.EOF
	case neverGoes:
		err = timeOut(ctx)
	case isLate:
		n.world.sendLate(n.name, cmds)
		err = timeOut(ctx)
	case neverComes:
		n.world.reached()
		_ = make(cmds)
		err = timeOut(ctx)
	}
	for _, cmd := range lost {
		cmd.SetErr(err)
	}
	return err
}

// timeOut waits for a call's timeout.
func timeOut(ctx context.Context) error {
	if _, bounded := ctx.Deadline(); bounded {
		<-ctx.Done()
	} else {
		time.Sleep(3 * time.Second)
	}
	return errSilent
}

// sendLate keeps calls until they arrive. It copies their arguments, which may be reused.
func (w *world) sendLate(from string, cmds []redis.Cmder) {
	late := lateCall{from: from, sent: time.Now()}
	for _, cmd := range cmds {
		late.args = append(late.args, slices.Clone(cmd.Args()))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.anyLate = true
	w.late = append(w.late, late)
}

// arrive lets Redis execute the late calls of a replica; an empty name means all. Calls older than latest are lost.
func (w *world) arrive(from string) (n int) {
	w.mu.Lock()
	late := w.late
	w.late = nil
	for _, call := range late {
		if from != "" && call.from != from {
			w.late = append(w.late, call)
		}
	}
	w.mu.Unlock()
	for _, call := range late {
		if from != "" && call.from != from || time.Since(call.sent) > latest {
			continue
		}
		for _, args := range call.args {
			_ = w.admin.Do(context.Background(), args...).Err() // its reply is lost
			n++
		}
	}
	return n
}

// pipe is a connection in this process whose writer need not wait for its reader: a client writes many commands before it
// reads the first reply.
type pipe struct {
	net.Conn
	written chan []byte
	closed  chan struct{}
	once    sync.Once
}

func (w *world) dial() (net.Conn, error) {
	conn, err := w.server.Dial()
	if err != nil {
		return nil, err
	}
	w.server.Server().SetPreHook(w.info)
	p := &pipe{Conn: conn, written: make(chan []byte, 4096), closed: make(chan struct{})}
	go func() {
		for {
			select {
			case b := <-p.written:
				_, _ = conn.Write(b)
			case <-p.closed:
				return
			}
		}
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pipes = append(w.pipes, p)
	return p, nil
}

// info answers INFO, which the double does not implement in full.
func (w *world) info(c *miniserver.Peer, cmd string, _ ...string) bool {
	if cmd == "INFO" {
		c.WriteBulk(fmt.Sprintf("# Server\r\nrun_id:%d\r\n", w.runs.Load()))
	}
	return cmd == "INFO"
}

// Write implements net.Conn.
func (p *pipe) Write(b []byte) (int, error) {
	p.written <- slices.Clone(b)
	return len(b), nil
}

// SetWriteDeadline implements net.Conn: no write waits.
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn.
func (p *pipe) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Conn.Close()
}
