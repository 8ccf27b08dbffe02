package picture

import (
	"fmt"
	"testing"
)

func TestParseSize(t *testing.T) {
	for _, text := range []string{"1280*720", "1*1", "99999*1"} {
		if got, ok := ParseSize(text); !ok || got.String() != text {
			t.Errorf("ParseSize(%q) = %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"100000*1", "0*720", "0720*720", "-1*720", "+1*720", "1280x720", "1280*", "*720", "1280", "1280*720*3", " 1280*720", "1e3*720",
		"１２８０*720", "",
	} {
		if got, ok := ParseSize(text); ok {
			t.Errorf("ParseSize(%q) = %v", text, got)
		}
	}
}

func TestSizeArea(t *testing.T) {
	for from, want := range map[Size]string{{1, 1}: "1280*1280 2048*2048", {1600, 400}: "2560*640 4096*1024",
		{300, 1200}: "640*2560 1024*4096"} {
		if got := fmt.Sprint(from.area(MediumArea, 16), " ", from.area(LargeArea, 16)); got != want {
			t.Errorf("%v is %v, want %v", from, got, want)
		}
	}
}

func TestSizeFit(t *testing.T) {
	const least, most = 4 * 28 * 28, 1280 * 28 * 28
	for _, tt := range []struct {
		name        string
		from        Size
		least, most int
		want        Size
	}{
		{"within", Size{560, 280}, least, most, Size{560, 280}},
		{"rounded", Size{570, 290}, least, most, Size{560, 280}},
		{"too small", Size{10, 10}, least, most, Size{56, 56}},
		{"too large", Size{4000, 4000}, least, most, Size{1008, 1008}},
		{"never nothing", Size{4000, 1}, 1, 8000, Size{4004, 28}},
	} {
		if got := tt.from.Fit(tt.least, tt.most, 28); got != tt.want {
			t.Errorf("%s: %v fits as %v, want %v", tt.name, tt.from, got, tt.want)
		}
	}
}
