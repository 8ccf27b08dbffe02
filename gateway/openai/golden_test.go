package openai

import (
	"fmt"
	"testing"

	"sluice/gateway/dialect/dialecttest"
)

func TestGenerations(t *testing.T) {
	dialecttest.Passages(t, "images", "native", func(_ string, in []byte) string {
		return dialecttest.Shown(Generation(in, dialecttest.Models))
	})
}

func TestPictures(t *testing.T) {
	dialecttest.Passages(t, "pictures", "openai", func(_ string, in []byte) string {
		p, err := ReadPictures(in, nil)
		if err != nil {
			return dialecttest.Refused(err, AppendError)
		}
		out := fmt.Sprintf("task %s, %s\n%s\n%s\n", p.Task, p.State, p.Append(nil, 1772600767), p.AppendTask(nil, 1772600767))
		if r := p.Refusal(); r != nil {
			out += dialecttest.Refused(r, AppendError)
		}
		return out
	})
}
