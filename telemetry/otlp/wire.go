package otlp

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of OTLP's Span, KeyValue, AnyValue, Link and Status, as opentelemetry-proto numbers them.
const (
	fieldTrace             = 1
	fieldID                = 2
	fieldParent            = 4
	fieldName              = 5
	fieldKind              = 6
	fieldStart             = 7
	fieldEnd               = 8
	fieldAttribute         = 9
	fieldAttributesDropped = 10
	fieldLink              = 13
	fieldLinksDropped      = 14
	fieldStatus            = 15
	fieldFlags             = 16
	fieldLinkFlags         = 6
	fieldKey               = 1
	fieldValue             = 2
	fieldText              = 1
	fieldBool              = 2
	fieldNumber            = 3
	fieldFloat             = 4
	fieldArray             = 5
	fieldItem              = 1
	fieldStatusText        = 2
	fieldStatusCode        = 3
	statusError            = 2
)

// The bits of a span's and a link's flags.
const (
	flagSampled  = 0x001
	flagKnown    = 0x100 // the next bit means something
	flagIsRemote = 0x200 // the parent, or the linked span, is of another process
)

// Number and type of a field are one byte, since all numbers but fieldFlags are below 16.

func bytesField(b []byte, field byte, value []byte) []byte {
	return append(open(b, field, len(value)), value...)
}

// open begins a field of size bytes.
func open(b []byte, field byte, size int) []byte {
	return protowire.AppendVarint(append(b, field<<3|byte(protowire.BytesType)), uint64(size))
}

func stringField(b []byte, field byte, text string) []byte {
	return append(open(b, field, len(text)), text...)
}

func numberField(b []byte, field byte, n uint64) []byte {
	return protowire.AppendVarint(append(b, field<<3|byte(protowire.VarintType)), n)
}

func timeField(b []byte, field byte, at time.Time) []byte {
	return protowire.AppendFixed64(append(b, field<<3|byte(protowire.Fixed64Type)), uint64(max(at.UnixNano(), 0)))
}

// flags returns those of a span, which are about its parent, and of a link.
func flags(sampled, remote bool) uint32 {
	flags := uint32(flagKnown)
	if sampled {
		flags |= flagSampled
	}
	if remote {
		flags |= flagIsRemote
	}
	return flags
}
