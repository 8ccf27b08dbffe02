package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// Embeddings translates the body of POST /v1/embeddings. Its errors are of type [*conversation.Refusal]. The result holds no part of the
// body.
func Embeddings(body []byte, models *conversation.Models) (*conversation.Request, error) {
	var q embeddings
	if err := conversation.Members(body, conversation.Places{{"model", &q.model, 0}, {"input", &q.input, 0}}, q.member); err != nil {
		return nil, err
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	r := &conversation.Request{Path: models.Embeddings, Model: string(rawjson.Decoded(q.model))}
	r.Whole = vectors{r.Model, q.base64}.append
	b, err := models.Begin(models.Service(r.Model), len(body)+64, 0)
	if err != nil {
		return nil, err
	}
	b = append(b, `,"input":{"texts":`...)
	if rawjson.IsString(q.input) {
		b = append(append(append(b, '['), q.input...), ']')
	} else {
		b = append(b, q.input...)
	}
	b = q.parameters.AppendTo(append(b, `},"parameters":{`...))
	r.Body = append(b, "}}"...)
	return r, nil
}

// embeddings is a request for embeddings. Values are raw.
type embeddings struct {
	model, input []byte
	base64       bool
	parameters   conversation.Parameters
}

func (q *embeddings) member(name, value []byte) (err error) {
	switch string(name) {
	case "encoding_format":
		q.base64, err = conversation.Either("encoding_format", value, "base64", "float")
	case "dimensions":
		q.parameters.Add([]byte("dimension"), value)
	case "user":
		// accepted, but not sent to the service
	case "dimension":
		return conversation.Reserved(name)
	default:
		q.parameters.Add(name, value)
	}
	return err
}

func (q *embeddings) check() error {
	if err := conversation.CheckModel(q.model); err != nil {
		return err
	}
	if kind := rawjson.Kind(q.input); kind != '"' && kind != '[' {
		return conversation.BadRequest("input", "input: a text or an array of texts is needed.")
	}
	for r := rawjson.Array(q.input); r.Element(); {
		if !rawjson.IsString(r.Value()) {
			return conversation.BadRequest("input", "input: the service reads only texts; send texts in place of tokens.")
		}
	}
	return nil
}

// EmbeddingsParam returns the member of a request that was translated to a field of the service's request. It is empty if there is none.
func EmbeddingsParam(field string) string {
	name, rest := conversation.Param(field, map[string]string{"model": "model", "input.texts": "input", "parameters.dimension": "dimensions"})
	return name + rest
}

// vectors writes the answer to a request for embeddings.
type vectors struct {
	model  string // as the client named it
	base64 bool   // vectors as base64 of little-endian numbers of 32 bits, in place of arrays
}

// append appends the service's answer in OpenAI's form.
func (v vectors) append(dst, native []byte) ([]byte, error) {
	answer, ok := conversation.ReadObject(native)
	if !ok {
		return dst, conversation.Unreadable()
	}
	if refused := conversation.Failed(answer); refused != nil {
		return dst, refused
	}
	list := rawjson.Find(rawjson.Find(answer, "output"), "embeddings")
	if rawjson.Kind(list) != '[' {
		return dst, conversation.Unreadable()
	}
	dst = append(dst, `{"object":"list","data":[`...)
	for _, one := range inOrder(list) {
		dst = strconv.AppendUint(append(rawjson.Next(dst), `{"object":"embedding","index":`...), one.index, 10)
		dst = append(v.vector(append(dst, `,"embedding":`...), one.numbers), '}')
	}
	dst = rawjson.Quote(append(dst, `],"model":`...), v.model)
	usage := conversation.ReadUsage(rawjson.Find(answer, "usage"))
	total := usage.Total()
	dst = conversation.AppendCount(append(dst, `,"usage":{`...), "prompt_tokens", total)
	return append(conversation.AppendCount(dst, "total_tokens", total), "}}"...), nil
}

// indexed is the vector of one text, raw.
type indexed struct {
	index   uint64 // of the text
	numbers []byte
}

// inOrder returns the vectors in the order of their texts, in which clients read them. One without an index has that of its position.
func inOrder(list []byte) (all []indexed) {
	for r := rawjson.Array(list); r.Element(); {
		one := r.Value()
		index, err := strconv.ParseUint(string(rawjson.Find(one, "text_index")), 10, 32)
		if err != nil {
			index = uint64(len(all))
		}
		all = append(all, indexed{index, rawjson.Find(one, "embedding")})
	}
	slices.SortStableFunc(all, func(a, b indexed) int { return cmp.Compare(a.index, b.index) })
	return all
}

func (v vectors) vector(dst, numbers []byte) []byte {
	if !v.base64 {
		return rawjson.AppendOrNull(dst, numbers)
	}
	var packed []byte
	for r := rawjson.Array(numbers); r.Element(); {
		n, _ := strconv.ParseFloat(string(r.Value()), 32) // any other value counts as 0, because the answer is paid for
		packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(float32(n)))
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), packed), '"')
}
