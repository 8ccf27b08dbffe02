package event

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

const (
	// HeldBack is how long a task's success waits at most for its pictures to be stored.
	HeldBack = 10 * time.Minute
	// SuccessesKept is how long the successes of a day are remembered, to be compared with what is stored.
	SuccessesKept = 8 * 24 * time.Hour
)

// Work is the pictures of a task that succeeded, which are stored before that is told. It is written with the task's charge, and kept until
// each picture is stored or lost.
type Work struct {
	Team     string          `json:"-"`
	Task     string          `json:"task"`
	Day      string          `json:"day"`  // of the task's end in UTC, as in "2026/11/26": the pictures are stored below it
	Ends     time.Time       `json:"ends"` // when the pictures' addresses expire
	Pictures []Picture       `json:"pictures"`
	Tries    int             `json:"tries,omitempty"` // so far, without those that stored a picture
	Told     bool            `json:"told,omitempty"`  // events tell of it
	Head     json.RawMessage `json:"head"`            // their data without results
	To       []Target        `json:"to,omitempty"`    // where its success is delivered to
	Later    []Target        `json:"later,omitempty"` // where it is delivered to that pictures were stored after that
}

// Picture is one of a Work.
type Picture struct {
	URL   string       `json:"url"` // the service's
	State PictureState `json:"state,omitempty"`
}

// PictureState is how far a picture is.
type PictureState string

// The states of a picture.
const (
	PictureWaits  PictureState = ""
	PictureStored PictureState = "stored"
	PictureLost   PictureState = "lost" // it is never stored
)

// Progress is what came of a try with a Work.
type Progress struct {
	Next   time.Duration // until some caller gets it; 0: as before
	Keep   bool          // the work has changed
	Done   bool          // it is removed
	Tell   *Draft        // written unless it was told before; nil: nothing
	Beside *Draft        // written if it was told before; nil: nothing
}

// Waits reports whether a picture waits to be stored.
func (w *Work) Waits() bool { return w.has(PictureWaits) }

func (w *Work) has(state PictureState) bool {
	return slices.ContainsFunc(w.Pictures, func(p Picture) bool { return p.State == state })
}

// Success is the event that tells of the task's success, as the pictures are; nil: nobody is told.
func (w *Work) Success() *Draft {
	if !w.Told {
		return nil
	}
	return &Draft{Type: TaskSucceeded, Team: w.Team, Data: w.data(), To: w.To}
}

// StoredLater is the event that tells of pictures that were stored after that; nil: none was, or nobody is told.
func (w *Work) StoredLater() *Draft {
	if !w.Told || !w.has(PictureStored) {
		return nil
	}
	return &Draft{Type: TaskStored, Team: w.Team, Data: w.data(), To: w.Later}
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
