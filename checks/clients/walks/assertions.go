package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func same(what string, got, expected any) {
	if !reflect.DeepEqual(got, expected) {
		panic(fmt.Sprintf("%s: %v is not %v", what, got, expected))
	}
}

func readLine() [][]float64 {
	text, err := os.ReadFile(os.Getenv("LINE"))
	must(err)
	var line [][]float64
	must(json.Unmarshal(text, &line))
	return line
}
