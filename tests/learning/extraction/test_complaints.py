"""Complaints: for each common tool, the line of its output that says what is wrong."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.problems import find_complaint, looks_failed

COMPLAINTS = {
    "go test": (
        ("--- FAIL: TestTotal (0.00s)\n    cart_test.go:31: total = 12, want 14\nFAIL\nFAIL\texample.com/shop/cart\t0.214s\n"
        "ok  \texample.com/shop/stock\t0.101s\nFAIL"),
        "cart_test.go:31: total = 12, want 14",
    ),
    "go test with testify": (
        ("--- FAIL: TestTotal (0.00s)\n    cart_test.go:18: \n        \tError Trace:\t/src/cart_test.go:18\n"
        "        \tError:      \tNot equal: \n        \t            \texpected: 14\n        \t            \tactual  : 12\n"
        "        \tTest:       \tTestTotal\nFAIL\nFAIL\texample.com/shop/cart\t0.004s\nFAIL"),
        "Error: Not equal: expected: 14 actual : 12",
    ),
    "go test, compile error": (
        ("# example.com/shop/cart [example.com/shop/cart.test]\n./cart_test.go:9:12: undefined: newCart\n"
        "FAIL\texample.com/shop/cart [build failed]\nFAIL"),
        "./cart_test.go:9:12: undefined: newCart",
    ),
    "go test, panic": (
        ("--- FAIL: TestLoad (0.00s)\npanic: runtime error: index out of range [3] with length 3 [recovered]\n"
        "\tpanic: runtime error: index out of range [3] with length 3\n\ngoroutine 18 [running]:\n"
        "testing.tRunner.func1.2({0x51a, 0xc0})\n\t/usr/lib/go/src/testing/testing.go:1545 +0x238\nFAIL\texample.com/shop 0.006s\nFAIL"),
        "panic: runtime error: index out of range [3] with length 3 [recovered]",
    ),
    "go build": (
        "# example.com/shop/cart\ncart/total.go:14:9: cannot use sum (variable of type float64) as int value in return statement",
        "cart/total.go:14:9: cannot use sum (variable of type float64) as int value in return statement",
    ),
    "go vet": (
        "# example.com/shop/cart\n# [example.com/shop/cart]\ncart/print.go:22:2: fmt.Printf format %d has arg name of wrong type string",
        "cart/print.go:22:2: fmt.Printf format %d has arg name of wrong type string",
    ),
    "golangci-lint": (
        "pkg/cart/total.go:40:15: Error return value of `file.Close` is not checked (errcheck)\n\tfile.Close()\n\t          ^\n1 issues:\n* errcheck: 1",
        "pkg/cart/total.go:40:15: Error return value of `file.Close` is not checked (errcheck)",
    ),
    "pytest": (
        ("============================= test session starts ==============================\ncollected 2 items\n\n"
        "tests/test_cart.py .F                                                    [100%]\n\n"
        "=================================== FAILURES ===================================\n"
        "__________________________________ test_total __________________________________\n\n"
        "    def test_total():\n>       assert total([1, 2]) == 4\nE       assert 3 == 4\nE        +  where 3 = total([1, 2])\n\n"
        "tests/test_cart.py:5: AssertionError\n=========================== short test summary info ============================\n"
        "FAILED tests/test_cart.py::test_total - assert 3 == 4\n========================= 1 failed, 1 passed in 0.02s =========================="),
        "assert 3 == 4",
    ),
    "pytest, exception": (
        ("    def load(path):\n>       return json.loads(path.read_text())\nE       FileNotFoundError: [Errno 2] No such file or directory: 'cart.json'\n\n"
        "src/cart.py:9: FileNotFoundError\nFAILED tests/test_cart.py::test_load - FileNotFoundError: [Errno 2] No suc...\n1 failed in 0.03s"),
        "FileNotFoundError: [Errno 2] No such file or directory: 'cart.json'",
    ),
    "pytest, collection": (
        ("==================================== ERRORS ====================================\n"
        "____________________ ERROR collecting tests/test_cart.py _____________________\n"
        "ImportError while importing test module '/src/tests/test_cart.py'.\nHint: make sure your test modules/packages have valid Python names.\n"
        "Traceback:\ntests/test_cart.py:1: in <module>\n    import carts\nE   ModuleNotFoundError: No module named 'carts'\n"
        "=========================== short test summary info ============================\nERROR tests/test_cart.py\n"
        "!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!"),
        "ModuleNotFoundError: No module named 'carts'",
    ),
    "unittest": (
        (".F\n======================================================================\nFAIL: test_total (test_cart.CartTest.test_total)\n"
        "----------------------------------------------------------------------\nTraceback (most recent call last):\n"
        '  File "/src/test_cart.py", line 8, in test_total\n    self.assertEqual(total([1, 2]), 4)\nAssertionError: 3 != 4\n\n'
        "----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)"),
        "AssertionError: 3 != 4",
    ),
    "cargo build": (
        ("   Compiling shop v0.1.0 (/src/shop)\nerror[E0382]: borrow of moved value: `cart`\n --> src/main.rs:7:20\n  |\n5 |     let cart = Cart::new();\n"
        "  |         ---- move occurs because `cart` has type `Cart`\n\nFor more information about this error, try `rustc --explain E0382`.\n"
        'error: could not compile `shop` (bin "shop") due to 1 previous error'),
        "error[E0382]: borrow of moved value: `cart`",
    ),
    "cargo test": (
        ("running 2 tests\ntest tests::empty ... ok\ntest tests::total ... FAILED\n\nfailures:\n\n---- tests::total stdout ----\n\n"
        "thread 'tests::total' panicked at src/lib.rs:21:9:\nassertion `left == right` failed\n  left: 3\n right: 4\n"
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\nfailures:\n    tests::total\n\n"
        "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`"),
        "assertion `left == right` failed left: 3 right: 4",
    ),
    "cargo clippy": (
        ("error: this loop could be written as a `for` loop\n --> src/main.rs:4:5\n  |\n  = note: `-D clippy::while-let-on-iterator` implied by `-D warnings`\n\n"
        'error: could not compile `shop` (bin "shop") due to 1 previous error'),
        "error: this loop could be written as a `for` loop",
    ),
    "rustc": (
        "error[E0425]: cannot find value `sum` in this scope\n --> cart.rs:3:5\n  |\n3 |     sum\n  |     ^^^ not found in this scope\n\nerror: aborting due to 1 previous error",
        "error[E0425]: cannot find value `sum` in this scope",
    ),
    "tsc": (
        "src/cart.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.\n\nFound 1 error in src/cart.ts:12",
        "src/cart.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    "tsc, pretty": (
        "src/cart.ts:12:5 - error TS2322: Type 'string' is not assignable to type 'number'.\n\n12     total = name;\n       ~~~~~\n\n\nFound 1 error in src/cart.ts:12",
        "src/cart.ts:12:5 - error TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    "eslint": (
        "\n/src/shop/cart.js\n   3:7   warning  Unexpected console statement  no-console\n  14:21  error    'total' is not defined        no-undef\n\n✖ 2 problems (1 error, 1 warning)\n",
        "14:21 error 'total' is not defined no-undef",
    ),
    "jest": (
        ("FAIL src/cart.test.js\n  ● cart › adds prices\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 4\n    Received: 3\n\n"
        "      5 | test('adds prices', () => {\n    > 6 |   expect(total([1, 2])).toBe(4);\n        |                         ^\n\n"
        "      at Object.toBe (src/cart.test.js:6:25)\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 2 passed, 3 total\n"),
        "● cart › adds prices; expect(received).toBe(expected) // Object.is equality Expected: 4 Received: 3",
    ),
    "jest, exception": (
        "FAIL src/cart.test.js\n  ● Test suite failed to run\n\n    Cannot find module './carts' from 'src/cart.test.js'\n\n    Require stack:\n      src/cart.test.js\n\nTest Suites: 1 failed, 1 total",
        "Cannot find module './carts' from 'src/cart.test.js'",
    ),
    "vitest": (
        (" ❯ src/cart.test.ts (2 tests | 1 failed) 5ms\n   × cart > adds prices 3ms\n     → expected 3 to be 4 // Object.is equality\n\n"
        "⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯\n\n FAIL  src/cart.test.ts > cart > adds prices\nAssertionError: expected 3 to be 4 // Object.is equality\n\n"
        "- Expected\n+ Received\n\n- 4\n+ 3\n\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)"),
        "AssertionError: expected 3 to be 4 // Object.is equality",
    ),
    "mocha": (
        ("  cart\n    ✓ is empty\n    1) adds prices\n\n\n  1 passing (6ms)\n  1 failing\n\n  1) cart\n       adds prices:\n\n"
        "      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n3 !== 4\n\n      + expected - actual\n\n      -3\n      +4\n\n      at Context.<anonymous> (test/cart.js:9:14)"),
        "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 3 !== 4",
    ),
    "mvn": (
        ("[INFO] Scanning for projects...\n[ERROR] COMPILATION ERROR : \n[ERROR] /src/shop/Cart.java:[14,17] cannot find symbol\n  symbol:   method sum()\n"
        "[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.11.0:compile (default-compile) on project shop: Compilation failure\n[ERROR] -> [Help 1]"),
        "/src/shop/Cart.java:[14,17] cannot find symbol",
    ),
    "mvn test": (
        ("[INFO] Running shop.CartTest\n[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in shop.CartTest\n"
        "[ERROR] shop.CartTest.total -- Time elapsed: 0.01 s <<< FAILURE!\norg.opentest4j.AssertionFailedError: expected: <4> but was: <3>\n"
        "\tat shop.CartTest.total(CartTest.java:12)\n\n[ERROR] Failures: \n[ERROR]   CartTest.total:12 expected: <4> but was: <3>\n[INFO] BUILD FAILURE"),
        "org.opentest4j.AssertionFailedError: expected: <4> but was: <3>",
    ),
    "gradle": (
        ("> Task :app:compileKotlin FAILED\ne: file:///src/app/Cart.kt:9:12 Unresolved reference: sum\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\n"
        "Execution failed for task ':app:compileKotlin'.\n> Compilation error. See log for more details\n\n* Try:\n> Run with --stacktrace option to get the stack trace.\n\nBUILD FAILED in 3s"),
        "e: file:///src/app/Cart.kt:9:12 Unresolved reference: sum",
    ),
    "gradle, configuration": (
        ("\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nA problem occurred configuring root project 'shop'.\n"
        "> Could not resolve all files for configuration ':classpath'.\n   > Could not find com.example:plugin:2.1.\n\n* Try:\n> Run with --info option to get more log output.\n\nBUILD FAILED in 1s"),
        "Could not find com.example:plugin:2.1.",
    ),
    "make": (
        "cc -c -o cart.o cart.c\nmake: *** No rule to make target 'total.c', needed by 'total.o'.  Stop.",
        "No rule to make target 'total.c', needed by 'total.o'. Stop.",
    ),
    "make with gcc": (
        ("cc -Wall -c -o cart.o cart.c\ncart.c: In function 'main':\ncart.c:7:12: error: 'sum' undeclared (first use in this function)\n    7 |     return sum;\n"
        "      |            ^~~\ncart.c:7:12: note: each undeclared identifier is reported only once\nmake: *** [Makefile:4: cart.o] Error 1"),
        "cart.c:7:12: error: 'sum' undeclared (first use in this function)",
    ),
    "ld": (
        "/usr/bin/ld: cart.o: in function `main':\ncart.c:(.text+0xe): undefined reference to `sum'\ncollect2: error: ld returned 1 exit status\nmake: *** [Makefile:3: cart] Error 1",
        "cart.c:(.text+0xe): undefined reference to `sum'",
    ),
    "clang": (
        "cart.cpp:5:10: fatal error: 'sum.h' file not found\n    5 | #include \"sum.h\"\n      |          ^~~~~~~\n1 error generated.",
        "cart.cpp:5:10: fatal error: 'sum.h' file not found",
    ),
    "npm": (
        'npm error Missing script: "biuld"\nnpm error\nnpm error Did you mean this?\nnpm error   npm run build\nnpm error A complete log of this run can be found in: /root/.npm/_logs/2026-01-02T03_04_05_678Z-debug-0.log',
        'Missing script: "biuld"',
    ),
    "npm, dependencies": (
        ("npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error\nnpm error While resolving: shop@1.0.0\nnpm error Found: react@19.0.0\n"
        'npm error Could not resolve dependency:\nnpm error peer react@"^18.0.0" from cart-ui@2.1.0\nnpm error A complete log of this run can be found in: /root/.npm/_logs/x.log'),
        'ERESOLVE unable to resolve dependency tree; peer react@"^18.0.0" from cart-ui@2.1.0',
    ),
    "pnpm": (
        ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile" because pnpm-lock.yaml is not up to date with package.json\n\nNote that in CI environments this setting is true by default.',
        'ERR_PNPM_OUTDATED_LOCKFILE Cannot install with "frozen-lockfile" because pnpm-lock.yaml is not up to date with package.json',
    ),
    "docker build": (
        ("#8 [3/4] RUN pip install -r requirements.txt\n#8 1.204 ERROR: Could not find a version that satisfies the requirement carts==9.9 (from versions: 1.0)\n"
        '#8 1.301 ERROR: No matching distribution found for carts==9.9\n#8 ERROR: process "/bin/sh -c pip install -r requirements.txt" did not complete successfully: exit code: 1\n------\n'
        'ERROR: failed to solve: process "/bin/sh -c pip install -r requirements.txt" did not complete successfully: exit code: 1'),
        "ERROR: Could not find a version that satisfies the requirement carts==9.9 (from versions: 1.0)",
    ),
    "docker build, copy": (
        ('#7 [4/4] COPY cart.json /app/\n#7 ERROR: failed to calculate checksum of ref abc: "/cart.json": not found\n------\n > [4/4] COPY cart.json /app/:\n------\n'
        'ERROR: failed to solve: failed to compute cache key: "/cart.json": not found'),
        'ERROR: failed to calculate checksum of ref abc: "/cart.json": not found',
    ),
    "ruff": (
        "src/cart.py:3:8: F401 [*] `json` imported but unused\nFound 1 error.\n[*] 1 fixable with the `--fix` option.",
        "src/cart.py:3:8: F401 [*] `json` imported but unused",
    ),
    "ruff, full": (
        "F821 Undefined name `summ`\n --> src/cart.py:5:12\n  |\n4 | def total(prices):\n5 |     return summ(prices)\n  |            ^^^^\n\nFound 1 error.",
        "F821 Undefined name `summ`",
    ),
    "mypy": (
        'src/cart.py:9: error: Argument 1 to "total" has incompatible type "str"; expected "list[int]"  [arg-type]\nFound 1 error in 1 file (checked 4 source files)',
        'src/cart.py:9: error: Argument 1 to "total" has incompatible type "str"; expected "list[int]" [arg-type]',
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", COMPLAINTS)
def test_complaint_of_a_tool_says_what_is_wrong(tool):
    output, expected = COMPLAINTS[tool]

    assert find_complaint(output).split("; ")[0] in {expected, expected.split("; ", maxsplit=1)[0]}
    assert find_complaint(output).startswith(expected)
    assert looks_failed(output)


@pytest.mark.parametrize(
    "output",
    ["", "ok  \texample.com/shop/cart\t0.2s", "All checks passed!", "3 passed in 0.02s", "Success: no issues found in 4 source files"],
)  # fmt: skip
def test_output_of_a_passed_command_does_not_look_failed(output):
    assert not looks_failed(output)
