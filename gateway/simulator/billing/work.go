// Package billing is how the simulated service charges: its price list and its bill.
//
// It serves to compare a gateway's ledger with a bill that other code computed. So it imports nothing of the gateway, especially not its
// prices, and computes the bill in another way: per token, with exact numbers.
package billing

import "time"

// Item is what a line of the bill charges for, as the bill names it.
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
	Account string    // empty: the constant Account
	Model   string

	Text, Pictures, Films, Sounds int  // input tokens by medium
	Hits, Created                 int  // input tokens read from a cache, and written to one
	Explicit                      bool // the cache is an explicit one
	Answer, Thought               int  // tokens of the output
	Images, Pixels                int  // the number of pictures, and the size of one
}

// Input returns the number of input tokens.
func (w *Work) Input() int { return w.Text + w.Pictures + w.Films + w.Sounds }

// Tokens returns the number of all tokens.
func (w *Work) Tokens() int { return w.Input() + w.Answer + w.Thought }

// quantities divides the work among the items. Cached tokens count as text first, then as pictures, films and sounds.
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
