"""What cases of several exercises are for; a learner reads it after "This case"."""

EQUAL = "has all sizes equal, but different numbers in each array."
EQUAL_BATCH = "has all sizes equal, and a leading axis before them."
ONE_LEADING = "has one leading axis; the … in the shapes stands for any number of them."
LEADING = "has several leading axes; the … in the shapes stands for any number of them."
AGAIN = "has the sizes of an earlier case and other numbers: nothing may be kept between calls."
OTHER_WEIGHTS = (
    "has the words of an earlier case and other projections: nothing may be kept between calls."
)
BATCH_OF_ONE = "has a leading axis of length 1, which has to stay."
ONE_QUERY = "has one query only."
ONE_KEY = "has one key only, so that its axis has length 1, and has to stay."
LARGE = "has scores in the thousands beside small ones, where a careless exp() overflows."
EXACT_ROOT = (
    "has d_k = 16, whose root, 4, is exact, so that nothing but a loss of digits is off by little."
)
HALF = "has float16 inputs with numbers in the hundreds; the result holds them just so."
FLOAT32 = "has float32 inputs."
PERMUTED = "has inputs that lie in memory in another order."
