package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// fieldBody is a request whose one field has a long text, and everything else that a request needs.
type fieldBody struct {
	path, kind string
	make       func(field, text string) string
	fields     []string
	fine       func(field string) bool // a long text there is no fault
}

// One request takes no more than three times its own length, whatever its fields contain; what is refused costs nothing.
func TestMemoryOfLongFields(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures hundreds of requests of some MiB, one after the other")
	}
	const most = 3.0
	for about, kind := range fieldBodies(t) {
		for _, field := range kind.fields {
			t.Run(about+"/"+field, func(t *testing.T) {
				h := painting(t, limited("quotas: {requests: {day: 100}}"), func(p *plan) { p.upstream = chatsAndPictures(&easel{}) })
				spent := 0
				for i, one := range texts(kind.kind == "application/json") {
					size := (6 + i) << 19 // another one each time, so that no buffer is used again
					body := kind.make(field, strings.Repeat(one, size/len(one)))
					var got reading
					took := allocated(func() { got = h.ask("POST", kind.path, body, "Content-Type", kind.kind) })
					if times := float64(took) / float64(len(body)); times > most {
						t.Errorf("%q: %.1f times the body was allocated; answered %d %.150s", one, times, got.status, got.body)
					}
					if got.status == http.StatusOK && kind.fine(field) {
						spent++
						continue
					}
					row := got.header.Get("Sluice-Refusal")
					if got.status != http.StatusBadRequest || row != "inspect/rules" && row != "inspect/body" || len(got.body) > 2000 {
						t.Errorf("%q: answered %d %s %.200s", one, got.status, row, got.body)
					}
					h.stands(t, "requests", strconv.Itoa(spent), "0", 0)
				}
			})
		}
	}
}

// chatsAndPictures answers chats, and leaves pictures to the easel.
func chatsAndPictures(e *easel) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "text-generation") && !strings.Contains(r.URL.Path, "multimodal-generation") {
			e.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"output":{"choices":[{"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}}`)
	})
}

// texts are what fields are filled with: bytes that grow when they are written as JSON, and their escapes.
func texts(json bool) []string {
	if json {
		return []string{"\x01", "\xff", `"`, `\u0001`, `\"`}
	}
	return []string{"\x01", "\xff", `"`}
}

// allocated is how many bytes were allocated meanwhile: no less than the peak.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func fieldBodies(t *testing.T) map[string]fieldBody {
	t.Helper()
	member := func(whole string) func(field, text string) string {
		return func(field, text string) string {
			name := strconv.Quote(field)
			if field == "a name" {
				return strings.Replace(whole, "{", `{"`+text+`":1,`, 1)
			}
			if strings.Contains(whole, name+`:"`) {
				return strings.Replace(whole, name+`:"`, name+`:"`+text, 1)
			}
			return strings.Replace(whole, "{", "{"+name+`:"`+text+`",`, 1)
		}
	}
	in := func(whole, place string) func(field, text string) string {
		return func(field, text string) string {
			return strings.Replace(whole, place, place+member("{}")(field, text)[1:len(member("{}")(field, text))-2]+",", 1)
		}
	}
	words := []string{"model", "prompt", "negative_prompt", "size", "user", "safety_identifier", "response_format", "quality", "style",
		"background", "moderation",
		"output_format", "output_compression", "input_fidelity", "partial_images", "stream", "n", "seed", "watermark", "mask", "tone", "a name"}
	images := `{"model":"gen2.5-t2i","prompt":"A lighthouse"}`
	json := "application/json"
	none := func(string) bool { return false }
	all := func(string) bool { return true }
	return map[string]fieldBody{
		"generations": {frontImages, json, member(images), words, none},
		"edits": {frontEdits, "multipart/form-data; boundary=one", editWith, append(words, "a file's name", "a type", "image"),
			func(field string) bool { return field == "image" }},
		"chats": {frontChats, json, member(frontChat), []string{"model", "messages", "stream", "stream_options", "reasoning_effort", "user",
			"metadata", "tool_choice", "frequency_penalty",
			"function_call", "stop", "tone", "role", "content", "a name"}, all},
		"text": {textPath, json, in(textBody, `"parameters":{`),
			[]string{"result_format", "stop", "tool_choice", "tone", "size", "negative_prompt", "a name"}, all},
		"text, outside": {textPath, json, member(textBody), []string{"model", "input", "parameters", "role", "content", "tone", "a name"}, all},
		"images, outside": {imagePath, json, member(imageBody), []string{"model", "input", "parameters", "role", "content", "text", "image",
			"tone", "a name"}, all}, "older images": {olderPath, json, member(olderBody), []string{"model", "prompt", "tone", "a name"}, all},
	}
}

// editWith is a form whose one field has a text.
func editWith(field, text string) string {
	part := func(head, data string) string {
		return "--one\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + data + "\r\n"
	}
	body := ""
	for _, given := range [][2]string{{"model", "gen2.6-image"}, {"prompt", "Winter"}} {
		if given[0] != field {
			body += part(fmt.Sprintf("name=%q", given[0]), given[1])
		}
	}
	switch field {
	case "a name":
		body += part(`name="`+text+`"`, "a")
	case "a file's name":
		body += part(`name="image"; filename="`+text+`"`, "a")
	case "a type":
		body += part(`name="image"; filename="a.png"`+"\r\nContent-Type: image/"+text, "a")
	case "image":
		return body + part(`name="image"; filename="a.png"`, text) + "--one--\r\n"
	default:
		body += part(fmt.Sprintf("name=%q", field), text)
	}
	return body + part(`name="image"; filename="a.png"`, "\x89PNG\r\n\x1a\n") + "--one--\r\n"
}
