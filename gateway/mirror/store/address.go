package store

import (
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Address says where a store is: a bucket, or a folder. The zero Address is nowhere.
type Address struct {
	Bucket   string
	Prefix   string // of all keys in the bucket, with a slash at its end; may be empty
	Endpoint string // host, and port if it is not the scheme's
	Insecure bool   // over http
	Region   string

	Dir string // an absolute path; empty: it is a bucket

	text string
}

const (
	defaultEndpoint = "s3.amazonaws.com"
	defaultRegion   = "us-east-1"
)

var (
	bucketForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixForm   = regexp.MustCompile(`^([A-Za-z0-9_~-][A-Za-z0-9._~-]*/)*$`)
	regionForm   = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
	endpointForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[1-9][0-9]{0,4})?$`)
	errAddress   = errors.New("not the address of a store")
)

// ParseAddress reads s3://bucket/prefix?endpoint=…&region=…, or file:///dir. Its error does not quote the text.
func ParseAddress(text string) (a Address, err error) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return a, errAddress
	}
	ok := false
	switch u.Scheme {
	case "file":
		a.Dir = path.Clean(u.Path)
		ok = u.Host == "" && u.RawQuery == "" && strings.HasPrefix(u.Path, "/") && a.Dir != "/"
	case "s3":
		a, ok = bucketAt(u)
	}
	if a.text = text; !ok {
		return Address{}, errAddress
	}
	return a, nil
}

func bucketAt(u *url.URL) (a Address, ok bool) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return a, false
	}
	a = Address{Bucket: u.Host, Prefix: strings.TrimPrefix(u.Path, "/"), Endpoint: defaultEndpoint, Region: defaultRegion}
	if a.Prefix != "" && !strings.HasSuffix(a.Prefix, "/") {
		a.Prefix += "/"
	}
	for name, values := range query {
		switch {
		case len(values) != 1:
			return a, false
		case name == "endpoint":
			var secure bool
			a.Endpoint, secure = strings.CutPrefix(values[0], "https://")
			if !secure {
				a.Endpoint, a.Insecure = strings.CutPrefix(values[0], "http://")
			}
		case name == "region":
			a.Region = values[0]
		default:
			return a, false
		}
	}
	return a, bucketForm.MatchString(a.Bucket) && prefixForm.MatchString(a.Prefix) && endpointForm.MatchString(a.Endpoint) &&
		regionForm.MatchString(a.Region)
}

// String is the address as it was written.
func (a Address) String() string { return a.text }

// Host is the endpoint's name or address, without its port.
func (a Address) Host() string { return (&url.URL{Host: a.Endpoint}).Hostname() }
