package gateway

import "sluice/gateway/upstream"

// outbound is the header of a request to the service, in the order of writing.
type outbound []upstream.Field

// set replaces a header, or adds it.
func (o *outbound) set(name, value string) {
	for i := range *o {
		if f := &(*o)[i]; f.Name == name {
			f.Value = value
			return
		}
	}
	*o = append(*o, upstream.Field{Name: name, Value: value})
}

// clear removes all headers and keeps their memory.
func (o *outbound) clear() {
	clear(*o)
	*o = (*o)[:0]
}
