package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/mirror"
	"sluice/gateway/upstream"
	"sluice/policy/event"
)

// A success is told when its pictures are stored, as they are.
func TestPicturesAreStoredBeforeTheyAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run(b.config())
		b.succeed("t1", "https://a/1", "https://a/2")
		time.Sleep(2 * time.Second)
		b.want("task.succeeded t1 2")
		b.kept("search/"+b.day+"/t1/1.png", "https://a/1")
		b.kept("search/"+b.day+"/t1/2.png", "https://a/2")
		if b.counted()["stored"] != 2 || b.counted()["bytes"] != len(drawn("https://a/1"))*2 || b.fetches() != 2 {
			t.Error(b.counted(), b.fetched)
		}
	})
}

// A picture that its host does not give yet holds its success back for ten minutes; what is stored later is told then.
func TestWhatIsStoredLaterIsToldThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		m, _ := b.run(b.config())
		b.host("https://a/2", upstream.ErrStatus)
		b.succeed("t1", "https://a/1", "https://a/2")
		time.Sleep(event.HeldBack - time.Second)
		b.want("")
		if n := m.Waiting(); n != 1 {
			t.Error(n, "pictures wait")
		}
		time.Sleep(2 * time.Second)
		b.want("task.succeeded t1 1 pending")
		b.host("https://a/2", nil)
		time.Sleep(40 * time.Minute)
		b.want("task.stored t1 2, task.succeeded t1 1 pending")
		if n := m.Waiting(); n != 0 || b.counted()["failed fetch"] < 4 || b.counted()["stored"] != 2 {
			t.Error(n, b.counted())
		}
		if log := b.log.String(); !strings.Contains(log, "task=t1 picture=2") || strings.Contains(log, "https://a") {
			t.Error(log)
		}
	})
}

// Who listens is asked when a success is told, not when the task ended: a hook or a stream that is new by then gets it.
func TestWhoListensByThenIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run(b.config())
		b.listen(false)
		b.host("https://a/1", upstream.ErrStatus)
		b.host("https://a/2", upstream.ErrStatus)
		b.host("https://a/3", upstream.ErrStatus)
		b.succeed("kept", "https://a/1")
		b.succeed("late", "https://a/2")
		time.Sleep(time.Minute)
		b.listen(true)
		b.host("https://a/1", nil)
		time.Sleep(5 * time.Minute)
		b.want("task.succeeded kept 1")
		time.Sleep(5 * time.Minute)
		b.want("task.succeeded kept 1, task.succeeded late 0 pending")
		b.listen(false)
		b.succeed("silent", "https://a/3")
		time.Sleep(event.HeldBack + time.Minute)
		b.listen(true)
		b.host("https://a/3", nil)
		time.Sleep(time.Hour)
		b.want("task.stored silent 1, task.succeeded kept 1, task.succeeded late 0 pending")
	})
}

// While the store is away everything waits, and nothing is lost: what waits is not fetched in vain, and goes on when it is back.
func TestNothingIsLostWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run(b.config())
		b.store.set(true)
		const tasks = 200
		for n := range tasks {
			b.succeed(fmt.Sprint("t", n), fmt.Sprint("https://a/", n))
		}
		time.Sleep(5 * time.Minute)
		b.want("")
		if n := b.fetches(); n > 8 { // before it was known
			t.Error(n, "fetches while the store was away")
		}
		if log := b.log.String(); strings.Count(log, "the store is away") != 1 {
			t.Error(log)
		}
		b.store.set(false)
		time.Sleep(time.Minute)
		if got := strings.Count(b.told(), "task.succeeded"); got != tasks || b.counted()["stored"] != tasks ||
			strings.Contains(b.told(), "pending") {
			t.Errorf("%d told, %v", got, b.counted())
		}
		if b.counted()["lost expired"]+b.counted()["lost refused"] > 0 || !strings.Contains(b.log.String(), "store=back") {
			t.Error(b.counted(), b.log.String())
		}
	})
}

// What is no picture is never stored, and what expires first is lost: both are counted and named, and the success is told without them.
func TestWhatIsLostIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.run(b.config())
		b.host("https://a/1", upstream.ErrNoImage)
		b.host("https://a/2", upstream.ErrTooLarge)
		b.host("https://a/3", upstream.ErrAddress)
		b.succeed("t1", "https://a/1", "https://a/2", "https://a/0")
		time.Sleep(2 * time.Second)
		b.want("task.succeeded t1 1")
		b.succeed("t2", "https://a/3")
		time.Sleep(23 * time.Hour)
		b.want("task.succeeded t1 1, task.succeeded t2 0 pending")
		if b.counted()["lost refused"] != 2 || b.counted()["lost expired"] != 0 {
			t.Error(b.counted())
		}
		time.Sleep(2 * time.Hour)
		b.want("task.succeeded t1 1, task.succeeded t2 0 pending")
		log := b.log.String()
		if b.counted()["lost expired"] != 1 || !strings.Contains(log, "task=t2 picture=1 lost=expired") ||
			!strings.Contains(log, "task=t1 picture=2 lost=refused") {
			t.Error(b.counted(), log)
		}
		before := b.fetches()
		time.Sleep(24 * time.Hour)
		if b.fetches() != before {
			t.Error("what is lost is fetched")
		}
	})
}

// The work of a replica that is killed is another's after the lease; one that stops gives it back at once.
func TestAnotherReplicaGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.succeed("killed", "https://a/1")
		if list, _ := b.works.Works.TakeWork(t.Context(), 9); len(list) != 1 { // and is killed
			t.Fatal(list)
		}
		_, stop := b.run(b.config())
		time.Sleep(event.Lease - time.Second)
		b.want("")
		time.Sleep(3 * time.Second)
		b.want("task.succeeded killed 1")
		stop()
		config, hangs := b.config(), make(chan struct{})
		config.Fetch = func(ctx context.Context, _ io.Writer, _ string) (string, error) {
			close(hangs)
			<-ctx.Done()
			return "", ctx.Err()
		}
		b.succeed("stopped", "https://a/2")
		_, stop = b.run(config)
		<-hangs
		time.Sleep(2*event.Lease + time.Second) // it is renewed
		if list, _ := b.works.Works.TakeWork(t.Context(), 9); len(list) > 0 {
			t.Error("two replicas have it")
		}
		stop()
		b.run(b.config())
		time.Sleep(2 * time.Second)
		b.want("task.succeeded killed 1, task.succeeded stopped 1")
	})
}

// cutOff are works of an outbox whose calls fail as a connection does that is closed under them.
type cutOff struct{ mirror.Works }

var errCut = errors.New("use of closed network connection")

func (cutOff) LateWork(ctx context.Context, _ int) ([]event.Work, error) {
	<-ctx.Done()
	return nil, errCut
}

// away are works of an outbox that is away.
type away struct{ mirror.Works }

func (away) LateWork(context.Context, int) ([]event.Work, error) { return nil, errCut }

// What a stop cuts is no fault of the outbox, and without a store no picture waits.
func TestNoFaultIsLoggedThatDoesNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		config := b.config()
		config.Works = cutOff{config.Works}
		_, stop := b.run(config)
		time.Sleep(time.Minute)
		stop()
		config.Store, config.Works = nil, away{config.Works}
		_, stop = b.run(config)
		time.Sleep(time.Minute)
		stop()
		if log := b.log.String(); log != "" {
			t.Error(log)
		}
	})
}

// A picture whose tries always panic is tried as rarely as one whose host does not give it, keeps no other from being stored, and is lost
// when its address expires.
func TestAPictureThatAlwaysPanicsIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		config, tries := b.config(), 0
		config.Fetch = func(ctx context.Context, w io.Writer, address string) (string, error) {
			if address == "https://a/1" {
				tries++
				panic("of the fetch")
			}
			return b.fetch(ctx, w, address)
		}
		m, _ := b.run(config)
		b.succeed("t1", "https://a/1", "https://a/2")
		time.Sleep(2 * time.Second)
		b.kept("search/"+b.day+"/t1/2.png", "https://a/2")
		time.Sleep(25 * time.Hour)
		b.want("task.succeeded t1 1 pending")
		if n := m.Waiting(); tries < 10 || tries > 60 || b.counted()["lost expired"] != 1 || n != 0 {
			t.Errorf("%d tries, %v, %d wait", tries, b.counted(), n)
		}
	})
}

// A try that panics ends nothing else: its work is tried again.
func TestATryThatPanicsIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		config, panicked := b.config(), false
		config.Fetch = func(ctx context.Context, w io.Writer, address string) (string, error) {
			if address == "https://a/1" && !panicked {
				panicked = true
				panic("of the fetch")
			}
			return b.fetch(ctx, w, address)
		}
		b.run(config)
		b.succeed("t1", "https://a/1")
		time.Sleep(time.Second)
		b.succeed("t2", "https://a/2")
		time.Sleep(2 * time.Second)
		b.want("task.succeeded t2 1")
		time.Sleep(2 * event.Lease)
		b.want("task.succeeded t1 1, task.succeeded t2 1")
		if !strings.Contains(b.log.String(), "panic=\"of the fetch\"") {
			t.Error(b.log.String())
		}
	})
}

// A replica without a store stores nothing, and tells what is late.
func TestWithoutAStoreLateSuccessesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		config := b.config()
		config.Store = nil
		b.run(config)
		b.succeed("t1", "https://a/1")
		time.Sleep(event.HeldBack + 2*time.Second)
		b.want("task.succeeded t1 0 pending")
		if list, _ := b.works.Works.TakeWork(t.Context(), 9); len(list) != 1 {
			t.Error("the work is not left to others", list)
		}
	})
}
