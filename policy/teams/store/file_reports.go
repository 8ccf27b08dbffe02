package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"sluice/policy/teams"
)

// reportEvery is how often an unchanged report is written.
const reportEvery = time.Minute

// fileReport is a report with its time.
type fileReport struct {
	teams.Report
	At time.Time `json:"at"`
}

// Report implements [teams.Store]. Without a directory other processes need no report, and nothing is written.
func (f *File) Report(_ context.Context, own teams.Report) (all []teams.Report, err error) {
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return []teams.Report{own}, nil
	}
	err = f.locked(func() error {
		kept, err := readMap[fileReport](f.path + ".replicas")
		if kept == nil {
			return err
		}
		if err != nil { // an unreadable file counts as empty: each process writes its own report again
			clear(kept)
		}
		now := f.now()
		was, known := kept[own.Replica]
		if own.Left {
			delete(kept, own.Replica)
		} else {
			kept[own.Replica] = fileReport{own, now}
		}
		news := own.Left == known || !own.Left && (was.Version != own.Version || !slices.Equal(was.Through, own.Through) ||
			now.Sub(was.At) >= reportEvery)
		for replica, r := range kept {
			if now.Sub(r.At) > teams.ReportKept {
				delete(kept, replica)
				continue
			}
			all = append(all, r.Report)
		}
		slices.SortFunc(all, func(a, b teams.Report) int { return cmp.Compare(a.Replica, b.Replica) })
		if !news {
			return nil
		}
		return writeJSON(f.path+".replicas", kept)
	})
	return all, err
}
