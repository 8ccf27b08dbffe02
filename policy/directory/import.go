package directory

import (
	"encoding/json"
	"fmt"

	"sluice/policy/teams"
)

// mostImported is the largest version that an import begins with, so that there are larger ones for every change to come.
const mostImported = teams.MaxAmount / 2

// Import replaces all teams by those of a document. It keeps the document's version where there was no directory, so that
// a restored directory is equal to the one that was exported.
//
// If the document says which version it is made from, and the directory has another by now, it is refused, because it
// would undo what was changed since. Importing it a second time makes no difference.
type Import struct {
	Document Document
	Force    bool // replaces any version
}

func (c Import) apply(d *Document) (Entry, error) {
	given, was := c.Document, d.Version
	stale := was != 0 && given.Version != 0 && given.Version != was
	if same := string(given.at(was).Text()) == string(d.Text()); stale && !same && !c.Force {
		text := fmt.Sprintf("got %d, allowed: %d, which is the directory's", given.Version, was)
		return Entry{}, &Error{Conflict, "version", text, "export it again and repeat the change, or use --force to undo what was changed since"}
	}
	if was == 0 && given.Version > mostImported {
		text := fmt.Sprintf("got %d, allowed: at most %d", given.Version, int64(mostImported))
		return Entry{}, &Error{Invalid, "version", text, "leave it out"}
	}
	before, after := difference(*d, given), difference(given, *d)
	d.Teams = given.Teams
	if was == 0 {
		d.Version = given.Version
	}
	return Entry{What: "directory.import", Before: before, After: after}, nil
}

// difference has, by their ids, the teams of a document that another has not, and what of the others differs; nil: nothing.
func difference(d, other Document) json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, team := range d.Teams {
		twin, ok := other.Team(team.ID)
		text := visible(team)
		if ok {
			text = team.unlike(twin)
		}
		if text != nil {
			all[team.ID] = text
		}
	}
	if len(all) == 0 {
		return nil
	}
	return encode(all)
}
