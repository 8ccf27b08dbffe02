package teams

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/policy"
)

// MaxProse is the longest description and note in characters.
const MaxProse = 200

// prose reads a text for people: one line in any script.
func (r *reader) prose(n node) string {
	allowed := fmt.Sprintf("one line of at most %d characters, without control characters", MaxProse)
	text, ok := r.text(n, allowed)
	if ok && !IsProse(text) {
		r.refuse(n, text, allowed)
		return ""
	}
	return text
}

// IsProse reports whether a text may be a description or a note: at most [MaxProse] characters in one line, without
// characters that hide or change the direction of others. The joiners and marks that Arabic and Indian scripts need pass.
func IsProse(text string) bool {
	if utf8.RuneCountInString(text) > MaxProse {
		return false
	}
	for _, c := range text {
		joins := c == '\u200c' || c == '\u200d' || c == '\u200e' || c == '\u200f'
		if c == utf8.RuneError || !unicode.IsGraphic(c) && !joins {
			return false
		}
	}
	return true
}

// maxKeyDays is ten years.
const maxKeyDays = 3650

// days reads the longest life of a key in days.
func (r *reader) days(n node) int {
	if unlimited(n) {
		return 0
	}
	number, _ := r.whole(n, 1, maxKeyDays)
	return int(number)
}

// faultyTag stands for a name that is faulty, so that it does not seem to be missing, too.
const faultyTag = "?"

// tagKey reads the name of a tag.
func (r *fileReader) tagKey(n node) string {
	if unlimited(n) {
		return ""
	}
	const allowed = "the name of a tag, 1 to 62 of a–z, 0–9, dot, underscore and hyphen, or none"
	text, ok := r.text(n, allowed)
	switch {
	case !ok:
		return faultyTag
	case !policy.IsTagName(text):
		r.refuse(n, text, allowed)
		return faultyTag
	}
	return text
}

// maxMembers is how many groups and e-mails a team may name.
const maxMembers = 100

const memberAllowed = "a group or an e-mail: one line of 1 to 200 characters, without spaces at its ends"

// members reads who belongs to a team, each once. Letters count as they are written.
func members(r *reader, n node) (all []string) {
	r.items(n, "a list of groups and e-mails", func(item node) {
		text, ok := r.text(item, memberAllowed)
		switch {
		case !ok:
		case text == "" || !IsProse(text) || strings.TrimSpace(text) != text:
			r.refuse(item, text, memberAllowed)
		case slices.Contains(all, text):
			r.refuse(item, text, "each group and e-mail once")
		case len(all) == maxMembers:
			r.fault(item, fmt.Sprintf("got more than %d, allowed: at most %d groups and e-mails", maxMembers, maxMembers))
		}
		if len(all) <= maxMembers {
			all = append(all, text)
		}
	})
	return all
}
