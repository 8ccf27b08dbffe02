package event

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	// HeldBack is how long a task's success waits at most for its pictures to be stored.
	HeldBack = 10 * time.Minute
	// SuccessesKept is how long the successes of a day are remembered, to be compared with what is stored.
	SuccessesKept = 8 * 24 * time.Hour
)

// Work is the pictures of a task that succeeded, which are stored before the success is announced. It is written with
// the task's charge, and kept until each picture is stored or lost.
type Work struct {
	Team     string          `json:"-"`
	Task     string          `json:"task"`
	Day      string          `json:"day"`  // of the task's end in UTC, as in "2026/11/26": the pictures are stored below it
	Ends     time.Time       `json:"ends"` // when the pictures' addresses expire
	Pictures []Picture       `json:"pictures"`
	Tries    int             `json:"tries,omitempty"`    // so far, without the tries that stored a picture
	Callback string          `json:"callback,omitempty"` // of the request that made the task
	Head     json.RawMessage `json:"head"`               // the data of its events, without results
}

// Picture is a picture of a Work.
type Picture struct {
	URL   string       `json:"url"` // the service's
	State PictureState `json:"state,omitempty"`
}

// PictureState is the state of a picture.
type PictureState string

// The states of a picture.
const (
	PictureWaits  PictureState = ""
	PictureStored PictureState = "stored"
	PictureLost   PictureState = "lost" // it will never be stored
)

// Progress is the outcome of a try with a Work.
type Progress struct {
	Next     time.Duration // until some caller gets the work; 0: unchanged
	Keep     bool          // the work has changed
	Done     bool          // it is removed
	Released bool          // its success is no longer held back
	Tell     *Draft        // written if the success was held back until now; nil: nothing
	Beside   *Draft        // written if the success was released before, and said that fewer pictures are stored; nil: nothing
	Stored   int           // pictures that are stored
}

// Waits reports whether a picture waits to be stored.
func (w *Work) Waits() bool { return w.count(PictureWaits) > 0 }

func (w *Work) count(state PictureState) (n int) {
	for _, p := range w.Pictures {
		if p.State == state {
			n++
		}
	}
	return n
}

// Release is the progress that announces the task's success with the pictures as they are or, if the success was
// announced, the pictures that were stored later. It goes to the current targets, which may differ from those at the
// task's end. If no picture waits, the work is done.
func (w *Work) Release(to Routes) Progress {
	p := Progress{Released: true, Tell: w.draft(TaskSucceeded, to), Stored: w.count(PictureStored)}
	if !w.Waits() {
		p.Done = true
		if p.Stored > 0 {
			p.Beside = w.draft(TaskStored, to)
		}
	}
	return p
}

// draft is an event of the work; nil: it has no target.
func (w *Work) draft(of Type, to Routes) *Draft {
	targets := to(w.Team, of, w.Callback)
	if targets == nil {
		return nil
	}
	return &Draft{Type: of, Team: w.Team, Data: w.data(), To: targets}
}

func (w *Work) data() json.RawMessage {
	results := make([]Result, len(w.Pictures))
	for i, p := range w.Pictures {
		if results[i].URL = p.URL; p.State == PictureStored {
			results[i].Stored = fmt.Sprintf("/sluice/v1/tasks/%s/results/%d", w.Task, i+1)
		}
	}
	return Ended(w.Head, results, w.Waits())
}

// Successes are the tasks of a team that succeeded on a day, with the numbers of their pictures, as their charges noted them.
type Successes map[string]int
