package picture

import (
	"encoding/binary"
	"runtime"

	"github.com/segmentio/asm/base64"
	"github.com/segmentio/asm/cpu"
	"github.com/segmentio/asm/cpu/x86"
)

// base64Value is the value of every base64 symbol, 64 for other bytes.
var base64Value = func() (values [256]byte) {
	for i := range values {
		values[i] = 64
	}
	for i := range base64Symbols {
		values[base64Symbols[i]] = byte(i)
	}
	return values
}()

const base64Symbols = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

const (
	// longRun is the least that vectors are worth their scratch memory for.
	longRun = 32 << 10
	// blockSymbols are decoded at once into scratch memory that stays in the processor's cache.
	blockSymbols = 4096
)

// vectors reports whether the processor has the instructions that the library uses. Without them it is slower than base64Words.
var vectors = runtime.GOARCH == "arm64" || cpu.X86.Has(x86.AVX2)

// base64Run counts the base64 symbols at the start of src.
func base64Run(src []byte) int {
	n := base64Words(src[:min(len(src), blockSymbols)])
	if n == blockSymbols { // an escape often ends a run before, and each run would cost scratch memory
		if vectors && len(src) >= longRun {
			n += base64Blocks(src[n:])
		}
		n += base64Words(src[n:])
	}
	for n < len(src) && base64Value[src[n]] < 64 {
		n++
	}
	return n
}

// base64Blocks counts the symbols of the blocks at the start of src that have nothing but symbols: those fill their part of the scratch
// memory. The decoder skips line ends and takes padding, so a block that has any fills less.
func base64Blocks(src []byte) (n int) {
	decoded := make([]byte, blockSymbols/4*3)
	for ; n+blockSymbols <= len(src); n += blockSymbols {
		if filled, err := base64.StdEncoding.Decode(decoded, src[n:n+blockSymbols]); err != nil || filled < len(decoded) {
			break
		}
	}
	return n
}

// base64Words counts the symbols at the start of src in steps of 32, eight at a time: in seven bits no sum carries into the next byte,
// so adding 0x80 - low sets the high bit of the bytes that are at least low.
func base64Words(src []byte) int {
	i := 0
	for ; i+32 <= len(src); i += 32 {
		b := src[i : i+32]
		good := symbols(binary.LittleEndian.Uint64(b)) & symbols(binary.LittleEndian.Uint64(b[8:])) &
			symbols(binary.LittleEndian.Uint64(b[16:])) & symbols(binary.LittleEndian.Uint64(b[24:]))
		if good&highs != highs {
			break
		}
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// symbols sets the high bit of the bytes of w that are base64 symbols.
func symbols(w uint64) uint64 {
	const sevens = ones * 0x7F
	x := w & sevens
	y := x | ones*0x20 // A–Z become a–z, and nothing else does
	good := (y + ones*(0x80-'a')) &^ (y + ones*(0x80-'{'))
	good |= (x + ones*(0x80-'/')) &^ (x + ones*(0x80-':')) // the slash stands before the digits
	return (good | ^((x ^ ones*'+') + sevens)) &^ w
}
