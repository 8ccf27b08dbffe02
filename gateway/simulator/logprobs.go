package simulator

import (
	"fmt"
	"hash/fnv"
	"math"
)

// probabilities invents a plausible probability for every token of text, and
// for top less likely ones.
func probabilities(text string, top int) *logprobs {
	out := &logprobs{Content: []logprob{}}
	for len(text) > 0 {
		n := piece(text)
		lp := invent(text[:n], 0)
		for i := range top {
			alternative := text[:n]
			if i > 0 {
				alternative = fmt.Sprintf("%s~%d", text[:n], i)
			}
			lp.Top = append(lp.Top, invent(alternative, i))
		}
		out.Content = append(out.Content, lp)
		text = text[n:]
	}
	return out
}

func invent(token string, rank int) logprob {
	h := fnv.New32a()
	h.Write([]byte(token))
	lp := logprob{Token: token, Logprob: -math.Round(float64(h.Sum32()%400))/1000 - float64(rank)}
	for _, b := range []byte(token) {
		lp.Bytes = append(lp.Bytes, int(b))
	}
	return lp
}
