package price

import (
	"slices"

	"sluice/policy/unit"
)

// Kind is what an item of a bill is for, an index of Table.
type Kind int

// The kinds. A new one is the last. The ledger and the price in a task's claim have them by name.
const (
	Input          Kind        = iota // input tokens that are of no other kind
	Cached                            // input tokens that hit the service's own cache
	ExplicitCached                    // input tokens that hit a cache that requests make
	CacheCreation                     // input tokens of which such a cache was made
	ImageInput                        // input tokens of pictures
	VideoInput                        // input tokens of films
	AudioInput                        // input tokens of sound
	Output                            // output tokens that are of no other kind
	Thinking                          // output tokens spent thinking
	Image                             // pictures that were made
	Kinds          = int(iota)        // how many there are
)

// Unknown is the kind of what was used without a bill. Table and a Bill have no row for it.
const Unknown = Kind(Kinds)

// Row is a row of the table of kinds.
type Row struct {
	Name   string // in the ledger and in a task's claim
	Member string // of a price in the teams file
	Parent Kind   // a kind without a price costs what its parent costs; the kind itself if it has none
}

// Table has a row for each kind.
var Table = [Kinds]Row{
	Input:          {"input", "input_per_million", Input},
	Cached:         {"cached", "cached_per_million", Input},
	ExplicitCached: {"explicit_cached", "explicit_cached_per_million", Cached},
	CacheCreation:  {"cache_creation", "cache_creation_per_million", Input},
	ImageInput:     {"image_input", "image_input_per_million", Input},
	VideoInput:     {"video_input", "video_input_per_million", Input},
	AudioInput:     {"audio_input", "audio_input_per_million", Input},
	Output:         {"output", "output_per_million", Output},
	Thinking:       {"thinking", "thinking_per_million", Output},
	Image:          {"image", "image", Image},
}

// String returns the kind's name in the ledger.
func (k Kind) String() string {
	if k >= Unknown {
		return "unknown"
	}
	return Table[k].Name
}

// KindOf returns the kind of that name; false if there is none.
func KindOf(name string) (Kind, bool) {
	i := slices.IndexFunc(Table[:], func(r Row) bool { return r.Name == name })
	return Kind(max(i, 0)), i >= 0
}

// Unit is the unit of limits that the kind is counted in, an index of [unit.Table]. Prices of tokens are for a million of them.
func (k Kind) Unit() int {
	if k == Image {
		return unit.Images
	}
	return unit.Tokens
}

// per is how many of a kind its price is for.
func (k Kind) per() int64 {
	if k.Unit() == unit.Tokens {
		return 1_000_000
	}
	return 1
}
