package picture

import "testing"

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Size
		ok   bool
	}{
		{"1280*720", Size{1280, 720}, true},
		{"1*1", Size{1, 1}, true},
		{"99999*1", Size{99999, 1}, true},
		{"100000*1", Size{}, false},
		{"0*720", Size{}, false},
		{"0720*720", Size{}, false},
		{"-1*720", Size{}, false},
		{"+1*720", Size{}, false},
		{"1280x720", Size{}, false},
		{"1280*", Size{}, false},
		{"*720", Size{}, false},
		{"1280", Size{}, false},
		{"1280*720*3", Size{}, false},
		{" 1280*720", Size{}, false},
		{"1e3*720", Size{}, false},
		{"１２８０*720", Size{}, false},
		{"", Size{}, false},
	} {
		got, ok := ParseSize(tt.text)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseSize(%q) = %v, %v, want %v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
		if ok && got.String() != tt.text {
			t.Errorf("%q comes back as %q", tt.text, got)
		}
	}
}

func TestSizeArea(t *testing.T) {
	for _, tt := range []struct {
		from   Size
		pixels int
		want   Size
	}{
		{Size{1, 1}, MediumArea, Size{1280, 1280}},
		{Size{500, 500}, LargeArea, Size{2048, 2048}},
		{Size{1600, 400}, MediumArea, Size{2560, 640}},
		{Size{300, 1200}, MediumArea, Size{640, 2560}},
	} {
		if got := tt.from.area(tt.pixels, 16); got != tt.want {
			t.Errorf("%v at %d pixels is %v, want %v", tt.from, tt.pixels, got, tt.want)
		}
	}
}

func TestSizeFit(t *testing.T) {
	const least, most = 4 * 28 * 28, 1280 * 28 * 28
	for _, tt := range []struct {
		name              string
		from              Size
		least, most, step int
		want              Size
	}{
		{"within", Size{560, 280}, least, most, 28, Size{560, 280}},
		{"rounded", Size{570, 290}, least, most, 28, Size{560, 280}},
		{"too small", Size{10, 10}, least, most, 28, Size{56, 56}},
		{"too large", Size{4000, 4000}, least, most, 28, Size{1008, 1008}},
		{"never nothing", Size{4000, 1}, 1, 8000, 28, Size{4004, 28}},
	} {
		if got := tt.from.Fit(tt.least, tt.most, tt.step); got != tt.want {
			t.Errorf("%s: %v fits as %v, want %v", tt.name, tt.from, got, tt.want)
		}
	}
}
