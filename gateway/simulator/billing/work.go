// Package billing is how the simulated service charges: its price list, and the bill that it writes.
//
// It is for comparing a gateway's ledger with a bill that other code worked out. So it imports nothing of the gateway's, least of
// all its prices, and works a bill out in another way: per token, with exact numbers.
package billing

import "time"

// Item is what a line of the bill is for, in the bill's words.
type Item string

// Items of the bill. Each is for one token or one picture.
const (
	Input       Item = "input tokens"
	Hit         Item = "cache hit input tokens"
	ExplicitHit Item = "explicit cache hit input tokens"
	Creation    Item = "cache creation input tokens"
	Picture     Item = "image input tokens"
	Film        Item = "video input tokens"
	Sound       Item = "audio input tokens"
	Output      Item = "output tokens"
	Thinking    Item = "thinking output tokens"
	Image       Item = "images"
)

// Work is one piece of work, as the service counts it.
type Work struct {
	At      time.Time // when it was ordered: the prices of that day in UTC count
	Account string    // that ordered it; empty is Account
	Model   string

	Text, Pictures, Films, Sounds int  // tokens of the input, by what they are of
	Hits, Created                 int  // of the input, those that hit a cache, and those of which one was made
	Explicit                      bool // the cache was one that requests make
	Answer, Thought               int  // tokens of the output
	Images, Pixels                int  // pictures that were made, and the size of one
}

// Input is the number of input tokens.
func (w *Work) Input() int { return w.Text + w.Pictures + w.Films + w.Sounds }

// Tokens is the number of all tokens.
func (w *Work) Tokens() int { return w.Input() + w.Answer + w.Thought }

// quantities divides the work among the items. Tokens of a cache are tokens of texts first, then of pictures, films and sounds.
func (w *Work) quantities() map[Item]int {
	hit := Hit
	if w.Explicit {
		hit = ExplicitHit
	}
	of := map[Item]int{hit: w.Hits, Creation: w.Created, Output: w.Answer, Thinking: w.Thought, Image: w.Images}
	cached := w.Hits + w.Created
	for _, part := range []struct {
		item Item
		n    int
	}{{Input, w.Text}, {Picture, w.Pictures}, {Film, w.Films}, {Sound, w.Sounds}} {
		taken := min(cached, part.n)
		cached -= taken
		of[part.item] = part.n - taken
	}
	return of
}
