package openai

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const formType = `multipart/form-data; boundary="b-1"`

// A form's parts are slices of the body, which the budget for bodies covers: reading them allocates no memory for them.
func TestFormsAreNotCopied(t *testing.T) {
	const length = 8 << 20
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	_ = w.SetBoundary("b-1")
	for range 2 {
		part, err := w.CreateFormFile("image", "mill.png")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(bytes.Repeat([]byte("\r\n--b-2"), length/7))
	}
	_ = w.WriteField("prompt", "Winter")
	_ = w.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parts, err := ReadForm(formType, buf.Bytes())
	runtime.ReadMemStats(&after)
	if err != nil || len(parts) != 3 || len(parts[1].Data) != length/7*7 || string(parts[2].Data) != "Winter" {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > length/8 {
		t.Errorf("%d bytes allocated for a body of %d", made, buf.Len())
	}
}

var forms = []string{
	"--b-1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b-1--\r\n",
	"preamble\r\n\r\n--b-1\r\n\r\nno head\r\n--b-1\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--b-1--",
	"--b-1\nContent-Disposition: form-data; name=a\n\nlines of LF\n--b-1--\n",
	"--b-1  \r\nA: 1\r\n folded\r\n\r\nx\n\n--b-2\r\n\r\n--b-1\r\n\r\nx--b-1\r\n\r\n\r\n--b-1--",
	"--b-1\r\nA: --b-1\r\n\r\nx\r\n\r\n--b-1\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=41\r\n--b-1--",
	"--b-1\r\n\r\nx\r\n--b-1", "--b-1--", "",
}

// Forms are read as by the standard reader.
func TestFormsAreReadAsByTheStandard(t *testing.T) {
	for _, body := range forms {
		_, err := ReadForm(formType, []byte(body))
		if _, want := copied(body); (err != nil) != (want != nil) {
			t.Errorf("%q: %v, want %v", body, err, want)
		}
	}
}

// Whatever a form looks like, its parts are those that the standard reader reads, or it is refused.
func FuzzReadForm(f *testing.F) {
	for _, body := range forms {
		f.Add(body)
	}
	f.Add("x--b-1\r\n\r\n\r\n--b-1\r\n\r\nx\r\n--b-1--")
	f.Fuzz(func(t *testing.T, body string) {
		got, err := ReadForm(formType, []byte(body))
		want, wantErr := copied(body)
		if err == nil && wantErr != nil {
			t.Fatal(wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Error(diff)
		}
	})
}

// copied reads a form with only the standard reader.
func copied(body string) (parts []Part, err error) {
	_, params, _ := mime.ParseMediaType(formType)
	r := multipart.NewReader(strings.NewReader(body), params["boundary"])
	for {
		part, err := r.NextRawPart()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil || len(parts) == mostParts {
			return nil, textproto.ProtocolError("broken")
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{Name: part.FormName(), File: part.FileName(), MediaType: part.Header.Get("Content-Type"), Data: data})
	}
}

// The head of a part, and the text before the first, have a bound: the standard reader copies them.
func TestLongHeadsOfParts(t *testing.T) {
	long := strings.Repeat("x", 20<<10)
	for about, body := range map[string]string{
		"a name":   "--b\r\nContent-Disposition: form-data; name=\"" + long + "\"\r\n\r\na\r\n--b--\r\n",
		"a header": "--b\r\nContent-Disposition: form-data; name=\"a\"\r\nX-A: " + long + "\r\n\r\na\r\n--b--\r\n",
		"a second part": "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + long + "\r\n--b\r\nX-A: " + long +
			"\r\n\r\na\r\n--b--\r\n",
		"before a part":  long + "\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\na\r\n--b--\r\n",
		"no end of data": "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + long,
	} {
		if parts, err := ReadForm("multipart/form-data; boundary=b", []byte(body)); err == nil {
			t.Errorf("%s: %d parts", about, len(parts))
		}
		if _, err := DigestForm("multipart/form-data; boundary=b", strings.NewReader(body)); err == nil {
			t.Errorf("%s: it has a digest", about)
		}
	}
}

// A form that is read and not kept has the digest of one that is kept.
func TestDigestsOfForms(t *testing.T) {
	body := "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nA lake\r\n--b\r\nContent-Disposition: form-data; " +
		"name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n" +
		strings.Repeat("\x00\r\n-", 20<<10) + "\r\n--b--\r\n"
	parts, err := ReadForm("multipart/form-data; boundary=b", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := DigestForm("multipart/form-data; boundary=b", strings.NewReader(body))
	if err != nil || digest != Content(parts) || len(parts) != 2 {
		t.Errorf("%x and %x of %d parts, %v", digest, Content(parts), len(parts), err)
	}
}

func TestForms(t *testing.T) {
	const contentType = `multipart/form-data; boundary=x`
	part := "--x\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nhello\r\n"
	parts, err := ReadForm(contentType, []byte(part+"--x--\r\n"))
	if err != nil || len(parts) != 1 || parts[0].Name != "prompt" || string(parts[0].Data) != "hello" {
		t.Errorf("%+v, %v", parts, err)
	}
	for about, body := range map[string]string{"cut": part, "too many parts": strings.Repeat(part, 65) + "--x--\r\n", "no form": "hello"} {
		if parts, err := ReadForm(contentType, []byte(body)); err == nil {
			t.Errorf("%s: %d parts", about, len(parts))
		}
	}
}
