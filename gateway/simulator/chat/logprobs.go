package chat

import (
	"fmt"
	"hash/fnv"
	"math"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/prose"
)

// probabilities invents a plausible probability for every token of text, and for top less likely ones.
func probabilities(text string, top int) *answer.Logprobs {
	out := &answer.Logprobs{Content: []answer.Logprob{}}
	for len(text) > 0 {
		n := prose.Piece(text)
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

func invent(token string, rank int) answer.Logprob {
	h := fnv.New32a()
	h.Write([]byte(token))
	lp := answer.Logprob{Token: token, Logprob: -math.Round(float64(h.Sum32()%400))/1000 - float64(rank)}
	for _, b := range []byte(token) {
		lp.Bytes = append(lp.Bytes, int(b))
	}
	return lp
}
