package simulator

import "sluice/gateway/simulator/answer"

// uploadPolicy is what uploads?action=getPolicy answers.
type uploadPolicy struct {
	Data      uploadData `json:"data"`
	RequestID string     `json:"request_id"`
}

type uploadData struct {
	Policy    string `json:"policy"`
	Signature string `json:"signature"`
	Dir       string `json:"upload_dir"`
	Host      string `json:"upload_host"`
	Expires   int    `json:"expire_in_seconds"`
	MaxMB     string `json:"max_file_size_mb"`
	ACL       string `json:"x_oss_object_acl"`
}

// serveUploads answers the one action that clients use. Nothing can be uploaded really.
func (s *Simulator) serveUploads(c *call) (answer.Answer, error) {
	q := c.r.URL.Query()
	if q.Get("action") != "getPolicy" {
		return answer.Answer{}, answer.Invalid("action must be getPolicy")
	}
	if q.Get("model") == "" {
		return answer.Answer{}, answer.Invalid("model is required")
	}
	data := uploadData{
		Policy: "eyJjb25kaXRpb25zIjpbXX0=", Signature: "c2ltdWxhdGVk", Dir: "instant/" + c.id,
		Host: "https://uploads.invalid", Expires: 300, MaxMB: "100", ACL: "private",
	}
	return answer.Answer{Doc: uploadPolicy{Data: data, RequestID: c.id}}, nil
}
