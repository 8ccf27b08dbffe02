package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/policy/event"
)

// works are those of one of the two forms.
type works interface {
	TakeWork(ctx context.Context, most int) ([]event.Work, error)
	LateWork(ctx context.Context, most int) ([]event.Work, error)
	Worked(ctx context.Context, w *event.Work, p event.Progress) (bool, error)
	Succeeded(ctx context.Context, team, day string) (event.Successes, error)
}

// succeed writes the success of a task with pictures.
func (f *form) succeed(team, task string, urls ...string) {
	f.Helper()
	w := &event.Work{Task: task, Day: "2026/11/26", Ends: f.clock.Now().Add(24 * time.Hour), Callback: "jobs/" + task,
		Head: []byte(`{"task_id":"` + task + `"}`)}
	for _, url := range urls {
		w.Pictures = append(w.Pictures, event.Picture{URL: url})
	}
	if id := f.draft(&event.Draft{Type: event.TaskSucceeded, Team: team, Work: w}); id != (event.ID{}) {
		f.Error("what is not written has an id:", id)
	}
}

func (f *form) take(most int) []event.Work {
	f.Helper()
	list, err := f.works.TakeWork(f.Context(), most)
	if err != nil {
		f.Fatal(err)
	}
	return list
}

func (f *form) late() []event.Work {
	f.Helper()
	list, err := f.works.LateWork(f.Context(), 9)
	if err != nil {
		f.Fatal(err)
	}
	return list
}

func (f *form) worked(w event.Work, p event.Progress, want bool) {
	f.Helper()
	if known, err := f.works.Worked(f.Context(), &w, p); known != want || err != nil {
		f.Fatal(known, err)
	}
}

// listening are hooks of a team, for successes, and of operators, for what is stored later.
func listening(owner string, of event.Type, callback string) []event.Target {
	if !strings.HasPrefix(callback, "jobs/") {
		return nil
	}
	return map[event.Type][]event.Target{event.TaskSucceeded: {{Address: event.Address{Owner: owner, Hook: "jobs"}}},
		event.TaskStored: {{Address: ops}}}[of]
}

func silent(string, event.Type, string) []event.Target { return nil }

// tasksOf are the works' tasks in order.
func tasksOf(list []event.Work) string {
	var all []string
	for _, w := range list {
		all = append(all, w.Team+"/"+w.Task)
	}
	return strings.Join(all, " ")
}

func (f *form) written(team, want string) {
	f.Helper()
	list, _, err := f.After(f.Context(), event.ID{Owner: team}, 99)
	var all []string
	for _, e := range list {
		all = append(all, string(e.Type)+string(e.Data))
	}
	if got := strings.Join(all, "; "); got != want || err != nil {
		f.Fatalf("%s has\n%s\nwant\n%s\n%v", team, got, want, err)
	}
}

// An event for images that were stored later lists only those that the announced success did not list, whoever announced it. If the success
// was never announced, it lists all.
func TestOnlyWhatIsStoredLaterIsToldLater(t *testing.T) {
	for about, tt := range map[string]struct {
		at    event.Routes // of the pending success
		early int          // pictures stored before it
		later event.PictureState
		told  bool
	}{
		"one before, and the other lost":       {listening, 1, event.PictureLost, false},
		"one before, and the other later":      {listening, 1, event.PictureStored, true},
		"none before, and one later":           {listening, 0, event.PictureStored, true},
		"one before, which nobody heard of":    {silent, 1, event.PictureLost, true},
		"none before, and nobody heard of any": {silent, 0, event.PictureLost, false},
	} {
		t.Run(about, func(t *testing.T) {
			forms(t, func(f *form) {
				f.succeed("search", "t1", "https://a/1", "https://a/2")
				w := f.take(1)[0]
				f.clock.Move(event.HeldBack + time.Second)
				if w.Pictures[1].State = event.PictureLost; tt.early > 0 {
					w.Pictures[1].State = event.PictureStored
				}
				f.worked(w, event.Progress{Keep: true, Next: event.Lease}, true)
				late := f.late()[0] // by another replica, while this one goes on
				f.worked(late, late.Release(tt.at), true)
				f.worked(w, event.Progress{Keep: true, Next: event.Lease}, true)
				w.Pictures[0].State = tt.later
				f.worked(w, w.Release(listening), true)
				list, _, err := f.After(f.Context(), event.ID{Owner: "search"}, 9)
				told := slices.ContainsFunc(list, func(e event.Event) bool { return e.Type == event.TaskStored })
				if err != nil || told != tt.told {
					f.Errorf("told: %v, want %v; %v", told, tt.told, err)
				}
				if f.client != nil && f.client.Exists(f.Context(), keyOf("search", "works:told")).Val() > 0 {
					f.Error("what was told is kept longer than its work")
				}
			})
		})
	}
}

// A success is told when its pictures are stored, not before, and to the hooks that it is for.
func TestASuccessIsToldWhenItsPicturesAreStored(t *testing.T) {
	forms(t, func(f *form) {
		f.succeed("search", "t1", "https://a/1", "https://a/2")
		f.written("search", "")
		f.taken("", f.due(9, jobs, ops))
		list := f.take(9)
		if len(list) != 1 || list[0].Task != "t1" || list[0].Team != "search" || len(list[0].Pictures) != 2 ||
			!list[0].Ends.Equal(f.clock.Now().Add(24*time.Hour)) {
			f.Fatalf("%+v", list)
		}
		w := list[0]
		w.Pictures[0].State = event.PictureStored
		f.worked(w, event.Progress{Keep: true, Next: event.Lease}, true)
		f.written("search", "")
		w.Pictures[1].State = event.PictureStored
		f.worked(w, w.Release(listening), true)
		const data = `{"task_id":"t1","results":[{"url":"https://a/1","stored":"/sluice/v1/tasks/t1/results/1"},{"url":"https://a/2",` +
			`"stored":"/sluice/v1/tasks/t1/results/2"}]}`
		f.written("search", "task.succeeded"+data)
		f.taken("search/jobs "+data, f.due(9, jobs, ops))
		f.worked(w, w.Release(listening), false)
		f.clock.Move(event.HeldBack)
		if list := append(f.take(9), f.late()...); len(list) > 0 {
			f.Errorf("%+v", list)
		}
	})
}

// A success is told after ten minutes as it is, and what comes later is an event of its own.
func TestASuccessIsHeldBackForTenMinutes(t *testing.T) {
	forms(t, func(f *form) {
		f.succeed("search", "t1", "https://a/1", "https://a/2")
		w := f.take(9)[0]
		w.Pictures[0].State = event.PictureStored
		f.worked(w, event.Progress{Keep: true, Next: time.Hour}, true)
		f.clock.Move(event.HeldBack - time.Second)
		if list := f.late(); len(list) > 0 {
			f.Fatalf("%+v", list)
		}
		f.clock.Move(time.Second)
		late := f.late()
		if tasksOf(late) != "search/t1" || tasksOf(f.late()) != "" {
			f.Fatalf("%+v", late)
		}
		for range 2 { // as two replicas would
			f.worked(late[0], late[0].Release(listening), true)
		}
		const first = `task.succeeded{"task_id":"t1","results":[{"url":"https://a/1","stored":"/sluice/v1/tasks/t1/results/1"},` +
			`{"url":"https://a/2"}],"pending":true}`
		f.written("search", first)
		f.clock.Move(time.Hour)
		if w = f.take(9)[0]; w.Pictures[0].State != event.PictureStored {
			f.Errorf("what was stored is forgotten: %+v", w)
		}
		w.Pictures[1].State = event.PictureStored
		f.worked(w, w.Release(listening), true)
		f.written("search", first+`; task.stored{"task_id":"t1","results":[{"url":"https://a/1","stored":"/sluice/v1/tasks/t1/results/1"},`+
			`{"url":"https://a/2","stored":"/sluice/v1/tasks/t1/results/2"}]}`)
		for _, d := range f.due(9, jobs, ops) {
			if d.To != (map[event.Type]event.Address{event.TaskSucceeded: jobs, event.TaskStored: ops}[d.Event.Type]) {
				f.Errorf("%+v", d)
			}
		}
	})
}

// Pictures of a team without listeners are stored all the same. Where no picture was stored later, no second event is written.
func TestNothingIsToldInVain(t *testing.T) {
	forms(t, func(f *form) {
		f.succeed("search", "quiet", "https://a/1")
		w := f.take(9)[0]
		w.Pictures[0].State = event.PictureStored
		f.clock.Move(event.HeldBack)
		late := f.late()[0]
		f.worked(late, late.Release(silent), true)
		f.clock.Move(event.Lease)
		if list := f.late(); len(list) > 0 {
			f.Fatalf("its success was released: %+v", list)
		}
		f.worked(w, w.Release(silent), true)
		f.written("search", "")
		f.succeed("shop", "lost", "https://a/1")
		f.clock.Move(event.HeldBack)
		late = f.late()[0]
		f.worked(late, late.Release(listening), true)
		w = f.take(9)[0]
		w.Pictures[0].State = event.PictureLost
		f.worked(w, w.Release(listening), true)
		f.written("shop", `task.succeeded{"task_id":"lost","results":[{"url":"https://a/1"}],"pending":true}`)
	})
}

// A work is one caller's until its lease ends, so a replica that is killed loses none; works come in their order.
func TestAWorkIsOneCallersAtATime(t *testing.T) {
	forms(t, func(f *form) {
		for n := range 5 {
			f.succeed("search", fmt.Sprint("t", n), "https://a/1")
			f.clock.Move(time.Millisecond)
		}
		if got := tasksOf(f.take(2)); got != "search/t0 search/t1" {
			f.Fatal(got)
		}
		if got := tasksOf(f.take(9)); got != "search/t2 search/t3 search/t4" {
			f.Fatal(got)
		}
		if got := tasksOf(f.take(9)); got != "" {
			f.Fatal(got)
		}
		f.clock.Move(event.Lease)
		list := f.take(9)
		if len(list) != 5 {
			f.Fatal(tasksOf(list))
		}
		for _, w := range list {
			f.worked(w, event.Progress{Next: 10 * time.Second}, true)
		}
		f.clock.Move(10*time.Second - time.Millisecond)
		if got := tasksOf(f.take(9)); got != "" {
			f.Fatal(got)
		}
		f.clock.Move(time.Millisecond)
		if list = f.take(9); len(list) != 5 {
			f.Fatal(tasksOf(list), "after less than a lease")
		}
		f.worked(list[0], event.Progress{Next: time.Minute}, true)
		f.clock.Move(event.Lease)
		if list = f.take(9); len(list) != 4 || slices.ContainsFunc(list, func(w event.Work) bool { return w.Task == "t0" }) {
			f.Fatal(tasksOf(list))
		}
	})
}

// The works of all teams are found, also if the index has lost them.
func TestWorksOfAllTeamsAreFound(t *testing.T) {
	forms(t, func(f *form) {
		f.succeed("search", "t1", "https://a/1")
		f.succeed("shop", "t2", "https://a/2")
		if f.client != nil {
			f.client.Del(f.Context(), workIndex(worksDue), workIndex(worksLate))
		}
		list := f.take(9)
		for range 9 {
			list = append(list, f.take(9)...)
		}
		if got := tasksOf(list); got != "search/t1 shop/t2" && got != "shop/t2 search/t1" {
			f.Error(got)
		}
		f.clock.Move(event.HeldBack)
		if got := f.late(); len(got) != 2 {
			f.Error(tasksOf(got))
		}
	})
}

// What succeeded on a day is remembered for some days, whatever became of its pictures.
func TestSuccessesAreRemembered(t *testing.T) {
	forms(t, func(f *form) {
		f.succeed("search", "t1", "https://a/1", "https://a/2")
		f.succeed("search", "t2", "https://a/1")
		w := f.take(1)[0]
		f.worked(w, w.Release(listening), true)
		got, err := f.works.Succeeded(f.Context(), "search", "2026/11/26")
		if err != nil || len(got) != 2 || got["t1"] != 2 || got["t2"] != 1 {
			f.Error(got, err)
		}
		for _, of := range [][2]string{{"search", "2026/11/25"}, {"shop", "2026/11/26"}} {
			if got, err := f.works.Succeeded(f.Context(), of[0], of[1]); err != nil || len(got) > 0 {
				f.Error(of, got, err)
			}
		}
	})
}

// While no replica runs, a success that is held back is kept for as long as an event would be, and pictures for longer than their
// addresses.
func TestAWorkLivesAsLongAsEvents(t *testing.T) {
	for keep, want := range map[time.Duration]time.Duration{
		time.Hour:       49*time.Hour + event.HeldBack,
		72 * time.Hour:  72*time.Hour + event.HeldBack,
		720 * time.Hour: 720*time.Hour + event.HeldBack,
	} {
		formsOf(t, event.Kept(keep), func(f *form) {
			if f.client == nil {
				return // in memory nothing outlives the process
			}
			lives := func() {
				f.Helper()
				for _, end := range []string{"works", worksDue, worksLate} {
					if got := f.client.PTTL(f.Context(), keyOf("search", end)).Val(); got > want || got < want-time.Minute {
						f.Errorf("events live %v, %s %v, want %v", keep, end, got, want)
					}
					f.client.PExpire(f.Context(), keyOf("search", end), time.Hour)
				}
			}
			f.succeed("search", "t1", "https://a/1")
			lives()
			f.worked(f.take(9)[0], event.Progress{Next: time.Hour}, true)
			lives()
		})
	}
}

// A key of another type stops the charge, as with events.
func TestAWorkChecksItsKeys(t *testing.T) {
	forms(t, func(f *form) {
		if f.client == nil {
			f.Skip("memory has no types")
		}
		f.client.Set(f.Context(), keyOf("search", "works"), "x", 0)
		w := &event.Work{Task: "t1", Day: "2026/11/26", Head: []byte(`{}`)}
		if _, err := f.Append(f.Context(), &event.Draft{Type: event.TaskSucceeded, Team: "search", Work: w}); err == nil {
			f.Error("it was written")
		}
		if n := f.client.Exists(f.Context(), keyOf("search", "succeeded:20261126")).Val(); n != 0 {
			f.Error("a part was written")
		}
	})
}
