package simulator

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"sluice/gateway/simulator/billing"
)

// Bounds of embeddings. A text without a dimension gets the usual one.
const (
	mostTexts      = 10
	mostTextTokens = 8192
	dimension      = 1024
)

var embeddingsRules = []rule{
	{"dimension", integers("[1, 2048]")},
	{"output_type", words("dense")},
	{"text_type", words("query", "document")},
}

// embedding is the vector of one text.
type embedding struct {
	Index  int       `json:"text_index"`
	Vector []float64 `json:"embedding"`
}

// serveEmbeddings answers with a vector of length 1 for each text. The same text gets the same vector.
func serveEmbeddings(c *call) (*answer, error) {
	if err := checkFrame(c, false); err != nil {
		return nil, err
	}
	if err := checkAll(c.param, embeddingsRules); err != nil {
		return nil, err
	}
	texts := get[[]any](c.input, "texts")
	if n := len(texts); n == 0 || n > mostTexts {
		return nil, invalid("input.texts must be an array of 1 to %d texts", mostTexts)
	}
	var list []embedding
	total := 0
	for i, v := range texts {
		text, ok := v.(string)
		n := tokens(text)
		if !ok || n == 0 || n > mostTextTokens {
			return nil, invalid("input.texts[%d] must be a text of 1 to %d tokens", i, mostTextTokens)
		}
		total += n
		list = append(list, embedding{i, vectorOf(text, integer(c.param, "dimension", dimension))})
	}
	return &answer{
		doc: &reply{
			Output: object{"embeddings": list}, Usage: object{"total_tokens": total}, RequestID: c.ID,
		},
		worked: true, cost: billing.Work{Text: total},
	}, nil
}

func vectorOf(text string, size int) []float64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	random, length := rand.New(rand.NewPCG(h.Sum64(), uint64(size))), 0.0
	vector := make([]float64, size)
	for i := range vector {
		vector[i] = random.NormFloat64()
		length += vector[i] * vector[i]
	}
	for i := range vector {
		vector[i] /= math.Sqrt(length)
	}
	return vector
}
